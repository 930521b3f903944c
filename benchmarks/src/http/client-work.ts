// What a benchmark and its client processes send each other.
import type { Target } from './connection.ts'
import type { Schedule } from './schedule.ts'

/** Opens new connections and sends one request over each, which is not measured. */
export interface OpenWork {
  readonly kind: 'open'
  readonly target: Target
  readonly connections: number
  /** Sent in turns, from `first` on. */
  readonly requests: readonly Buffer[]
  readonly first: number
}

/** Sends until the time is over, the requests of the connections are used up, or `end` arrives. */
export interface RunWork {
  readonly kind: 'run'
  readonly seconds: number
  /** Ends after so many replies. Only for a closed loop. */
  readonly requests?: number
  /** Undefined: a closed loop, in which each connection sends its next request after a reply. */
  readonly schedule?: Schedule
  /** One of so many replies is kept. */
  readonly sampleEvery: number
}

export type ClientWork = OpenWork | RunWork | { readonly kind: 'end' }

/** What a run counted. */
export interface Counted {
  readonly replies: number
  /** Replies with another status than 200, and connections that the server closed. */
  readonly failures: number
  readonly seconds: number
  /** Latencies from the time that a request was due. */
  readonly latencies: Uint32Array
  /** Mean time from when a request was due until the client had noticed it. */
  readonly lateMs: number
  /** CPU time of the client. */
  readonly cpuMs: number
  /** Complete replies with the number of their request. */
  readonly samples: readonly (readonly [request: number, reply: Uint8Array])[]
}

export type ClientReply =
  | { readonly kind: 'opened' }
  | { readonly kind: 'counted'; readonly counted: Counted }
  | { readonly kind: 'failed'; readonly message: string }
