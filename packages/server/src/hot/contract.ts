// The parts of a serving thread and what they expect of each other. A serving thread reads HTTP on the shared port. It answers the requests
// that are frequent and only read (hot requests) without the main thread, and forwards every other request to the main thread, which answers it exactly as
// if the client were connected to it. When a part cannot answer, it returns undefined, and the request is forwarded: so every error and
// every rare form of a request has one implementation, that of the main thread.
import type { IncomingHttpHeaders } from 'node:http'
import type { DatabaseType, ReceivedSearch } from '@annal/engine'

/** The head of a request, before its body is read. */
export interface RequestHead {
  readonly method: string
  /** Path and query string as sent. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** Address of the peer of the connection. */
  readonly address: string
}

/** The routes that a serving thread can answer. */
export type HotRouteName = 'v1-search' | 'v2-search' | 'v2-batch' | 'v1-get' | 'v2-get' | 'health'

/** A hot route that a head selects, with the parts of its path. */
export interface HotRoute {
  readonly name: HotRouteName
  /** The path of the route with its parameters, as in the metrics: `/api/v1/index/:name/search`. */
  readonly pattern: string
  /** Decoded name of the collection. Empty for health. */
  readonly collection: string
  /** Largest body in bytes; a larger one is forwarded. */
  readonly bodyBytesMax: number
}

/** A request that the thread may answer, because its host, origin, token, license, rate, and the limits of the process admit it. */
export interface Admission {
  readonly route: HotRoute
  /** Name of the database of the token. Empty for health. */
  readonly database: string
  /** Type of this database, whose limits apply to its searches (license/tiers.ts). */
  readonly databaseType: DatabaseType
  /** Headers that every reply to this request has, for example Vary; mostly none. */
  readonly replyHeaders: readonly (readonly [name: string, value: string])[]
  /** Lines of headers whose values differ between replies; mostly empty. */
  readonly headerLines: string
  /** False as soon as the token was revoked or the database deactivated. For work that can be saved; `reply` checks again. */
  isValid(): boolean
  /**
   * Calls `send`, which hands the reply to the socket in this turn, and returns true. Returns false without calling it if the admission
   * is no longer valid; then forward the request. A revocation is acknowledged only when no such call from before it is running.
   */
  reply(send: () => void): boolean
  /** Releases what the request took of the limits of the process, when its reply is complete or its connection closed. Idempotent. */
  release(): void
  /** Instead of `release`, for a request that is forwarded after all: also gives back its part of the rate. Idempotent. */
  withdraw(): void
}

/** Decides by the head alone. The main thread and every serving thread decide with the same module and shared state. */
export interface Gate {
  /** Undefined: forward the request. What this call took of the limits was then given back. */
  admit(head: RequestHead, route: HotRoute): Admission | undefined
}

/** A complete reply of a hot request. */
export interface HotReply {
  readonly status: number
  readonly contentType: string
  /** The header that states how ef was chosen, if it was. */
  readonly recall?: string | undefined
  readonly body: Uint8Array
}

/** Answers admitted requests from the shared memory of the engine. */
export interface HotRoutes {
  /** The hot route of a head, by method and path alone. Undefined: forward. */
  match(method: string, url: string): HotRoute | undefined
  /** Undefined: forward. The result is a promise if something has to be fetched, read from disk, or loaded first. */
  answer(
    admission: Admission,
    headers: IncomingHttpHeaders,
    body: Buffer,
  ): HotReply | undefined | Promise<HotReply | undefined>
}

/** How the part of a serving thread in a request ended. The main thread counts the requests that are forwarded to it. */
export type RequestEnd = 'answered' | 'closed' | 'forwarded'

/** Counts and records the requests that a serving thread answers. Counts of all threads add up to what clients sent. */
export interface ThreadObserver {
  /** Call it when a request is admitted, and the returned function once, when its reply is complete or its connection closed, or when it is forwarded after all. */
  started(): (end: RequestEnd) => void
  /** Called for each request that this thread answered without the main thread. */
  answered(
    request: RequestHead,
    facts: {
      readonly route: HotRoute
      readonly database: string
      /** Called in the same turn, and only if it is needed. */
      readonly requestId: () => string
      readonly status: number
      readonly seconds: number
    },
  ): void
  /** Called for each search that this thread ran. Calls `facts` for those that the sample of searches records. */
  searched(facts: () => ReceivedSearch): void
}
