// What the main thread and a serving thread send each other: frames of connections, which are sent in batches, and messages about the
// thread itself. One port carries both, so their order is kept.

/** Kinds of frames. Each frame names its connection by a number that the serving thread chose. */
export const frameKind = { open: 1, data: 2, end: 3, destroy: 4, credit: 5, served: 6 } as const

/** Who is connected. */
export interface Peer {
  readonly address: string | undefined
  readonly port: number | undefined
  readonly family: string | undefined
  readonly localAddress: string | undefined
  readonly localPort: number | undefined
}

/**
 * - `open`: from the thread: a connection that the main thread serves from now on.
 * - `data`: bytes, in both directions. The receiver owns them.
 * - `end`: the sender sends no more data.
 * - `destroy`: the connection is closed.
 * - `credit`: the receiver of data has processed this many bytes, so the other side may send as many again.
 * - `served`: from the main thread: a reply is complete, and the connection can be used for the next request.
 */
export type Frame =
  | readonly [kind: typeof frameKind.open, connection: number, peer: Peer]
  | readonly [kind: typeof frameKind.data, connection: number, bytes: Uint8Array<ArrayBuffer>]
  | readonly [kind: typeof frameKind.end, connection: number]
  | readonly [kind: typeof frameKind.destroy, connection: number]
  | readonly [kind: typeof frameKind.credit, connection: number, bytes: number]
  | readonly [kind: typeof frameKind.served, connection: number]

/** Certificate and key of HTTPS, as bytes that can be sent to a thread. */
export interface ThreadTls {
  readonly cert: Uint8Array
  readonly key: Uint8Array
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
  readonly secureOptions: number
}

/** An IP address to listen on. A failure on an address that is not required is ignored. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
  readonly backlog: number
  readonly isRequired: boolean
}

/** Why a thread cannot listen: the properties of the error of the system. */
export interface ListenFailure {
  readonly message: string
  readonly code?: string
  readonly errno?: number
  readonly syscall?: string
  readonly address?: string
  readonly port?: number
}

/** From the main thread to a serving thread. */
export type ToThread =
  | readonly Frame[]
  | { readonly kind: 'listen'; readonly addresses: readonly ListenAddress[] }
  | { readonly kind: 'tls'; readonly tls: ThreadTls }
  /** The engine is open. The value makes the parts of the thread (`run-thread.ts`). */
  | { readonly kind: 'parts'; readonly value: unknown }
  /** Collect garbage: a load is over. */
  | { readonly kind: 'collect' }
  /** Accept no more connections, answer nothing here, and close what is idle. */
  | { readonly kind: 'stop' }

/** From a serving thread to the main thread. */
export type FromThread =
  | readonly Frame[]
  | { readonly kind: 'ready' }
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'failed'; readonly failure: ListenFailure }
  /** A part of the thread failed, and the request was forwarded. */
  | { readonly kind: 'fault'; readonly message: string }
  /** After `stop`: no connection is left. */
  | { readonly kind: 'drained' }

/** What a serving thread is started with. */
export interface ServingThreadData {
  /** Its number, from 0. */
  readonly thread: number
  readonly threads: number
  /** The words of `shared-counts.ts`. */
  readonly counts: SharedArrayBuffer
  readonly tls: ThreadTls | undefined
}

/** Bytes of one connection that a sender may have sent without credit. */
export const windowBytes = 131_072
/** Bytes of one `data` frame from the main thread, and the smallest credit. */
export const pieceBytes = 32_768
