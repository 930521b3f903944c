// The limits of the server. The limits of vectors, names, and queries belong to the engine. docs/reference/http.md has the numbers.

const mebibyte = 1_048_576

/** Bodies of calls with neither vectors nor filters. */
export const bodyBytesMax = mebibyte
/** Searches, reads and filters: 256 vectors of 1,024 numbers written out in JSON are 6 MB, 100 searches with 1,536 dimensions 4 MB. */
export const bodyBytesQueryMax = 8 * mebibyte
/** The largest batch of the published protocol, 1,000 vectors of 10,000 dimensions, is 90 MB as the published JavaScript client writes it. */
export const bodyBytesUpsertMax = 96 * mebibyte
/** 1,000 whole filters of 16 KiB; the engine takes filters up to 64 KiB, one at a time. */
export const bodyBytesFiltersMax = 16 * mebibyte
/**
 * All bodies that are read or processed at one time: those up to bodyBytesMax, larger ones of queries, which are in memory as a whole and take as
 * much again while they are parsed, and larger ones of uploads, of which parts are in memory.
 */
export const smallBodiesBytesMax = 64 * mebibyte
export const queryBodiesBytesMax = 64 * mebibyte
export const largeBodiesBytesMax = 192 * mebibyte
/** Bodies of writes that wait for providers of vectors have this in addition, so that a slow provider takes nothing from other requests. */
export const embeddingBodiesBytesMax = 128 * mebibyte

/** The connection is closed if fewer bytes of a body arrive in this time. Node's limit of the total time of a request is off. */
export const bodyProgressMs = 30_000
export const bodyProgressBytesMin = 65_536
/**
 * After a reply, the rest of the body is received and dropped, up to these limits, so that a client that sends the whole body before it
 * reads gets the reply. Twice the largest body of any route.
 */
export const unreadBytesMax = 2 * bodyBytesUpsertMax
export const unreadMs = 120_000
/**
 * Stored data in one reply, with vectors as 32-bit floats: the size of one record of the log, so that one call can read what one call
 * stored.
 */
export const replyBytesMax = 65 * mebibyte
/** The same with little memory: 1,000 objects of 8 KiB. */
export const replyBytesLeast = 8 * mebibyte
/** A page ends before it exceeds this size; clients continue with its cursor. */
export const pageBytesMax = 16 * mebibyte
/** Longer replies are written in pieces of about this size, each after the client has received the previous one. */
export const replyPieceBytes = 131_072

/** Replies above this size count towards largeRepliesBytesMax. */
export const largeReplyBytes = 65_536
/** The connection is closed if bytes wait for the client and it receives fewer than this in this time. */
export const readerTimeoutMs = 30_000
export const readerBytesMin = 65_536
/** Stored data in all large replies that clients have not received yet. */
export const largeRepliesBytesMax = 128 * mebibyte
/** When a client that has ended its side gets interim replies while its search waits, counted from when this is noticed. */
export const interimRepliesAtMs: readonly number[] = [100, 200, 1_000, 5_000]
export const headersTimeoutMs = 10_000
export const keepAliveTimeoutMs = 5_000
/** Time for a client to read the reply to bytes that are no request, and to close its end. */
export const refusedMs = 2_000
/** The interval in which Node checks connections for timeouts. With its default of 30 s, slow clients would stay too long. */
export const connectionsCheckingIntervalMs = 1_000
/** Two thousand idle connections do not block other clients. */
export const connectionsMax = 4_096
/** Requests in progress at one time; a pipelining client can have several on one connection. */
const requestsInFlightMax = 1_024
/** For each kind of request, so that writes that wait for a backup or a disk cannot block reads, nor reads writes. */
export const writesInFlightMax = requestsInFlightMax / 2
export const readsInFlightMax = requestsInFlightMax / 2
/** Of the writes, and of the reads, that wait for providers of vectors: most of the room is left for others. */
export const embedsInFlightMax = requestsInFlightMax / 8
export const requestsPerSocketMax = 1_000
/** Requests that arrived before the reply to the previous one of their connection, on all connections. Each takes several KiB until it begins. */
export const requestsWaitingMax = 4_096
/** Streams of changes: a tenth of all connections, so that they leave room for requests. */
export const feedStreamsMax = Math.floor(connectionsMax / 10)
/** An idle stream sends a comment this often: proxies close connections that are silent for a minute or less. */
export const heartbeatMs = 15_000
/** Bytes that wait for the reader of a stream, besides those of the socket and of one change. No more is read from the log before it reads. */
export const feedUnreadBytesMax = 262_144
export const headerBytesMax = 16_384
/** An id of 512 bytes has three characters per byte if it is encoded in a path. */
export const pathParamLengthMax = 2_048

/** Number of accepted Host headers that are remembered, so that each is parsed only once. */
export const hostsRememberedMax = 256
/** Browsers cache the reply to a preflight for this time, which is the maximum of Chromium. */
export const preflightMaxAgeS = 7_200
/** Routes whose body is a list read larger bodies while they arrive. */
export const bodyBytesAtOnceMax = 262_144
/** Serving threads forward larger searches: 10,000 numbers of 25 characters, and a filter of 64 KiB, are shorter. */
export const hotBodyBytesMax = 524_288
/** Serving threads forward larger reads of objects by id: those of more ids than they read themselves. */
export const hotReadBytesMax = 65_536
/**
 * An entry of a list without its vectors: id, meta, and filter of maximum size, with every character escaped, and its texts: one of maximum
 * size with every character escaped, or seven without escapes.
 */
export const itemTextBytesMax = 8 * mebibyte
/** Numbers in one array of an entry of a list: terms of a sparse vector. A dense vector has at most 10,000. */
export const vectorNumbersMax = 65_536
/** Characters of one number. The longest exact form of a double has about 770 digits. */
export const jsonNumberBytesMax = 1_024
/** Arrays, objects, and keys in a body that is read at once, without the numbers and strings in them. */
export const bodyNodesMax = 131_072

/** Values in a body that is read at once, and in a MessagePack body of unknown structure. */
export const bodyElementsMax = 2_000_000

/** Nesting of a JSON body: 32 levels of meta or filter inside `{objects:[{meta:...}]}`. */
export const jsonBodyDepthMax = 36
export const msgpackDepthMax = 32

/** Wrong tokens that are compared within a minute, from one address (for IPv6 one /64) and from all; above that, 429. */
export const authFailuresMax = 10
export const authFailuresOfServerMax = 100
export const authWindowMs = 60_000
/** Tokens from an address that used the right token are compared above these limits for a day. The time is updated once a minute. */
export const authRememberedMs = 24 * 3_600_000
export const authRefreshMs = 60_000
/** The reply to a wrong token is sent after a second. At most this many replies wait at one time; others are sent immediately. */
export const authDelayMs = 1_000
export const authDelayedMax = 100
/** The specification says one month; the published service gives 30 days. */
export const trialMs = 30 * 24 * 3_600_000
/** A license may start this much later than the clock of this machine, because clocks differ and it may be new. */
export const licenseClockLeewayMs = 24 * 3_600_000

/** A serving thread searches for a caller at most this long before the main thread checks the license again. */
export const licenseCheckEveryMs = 60_000

/** Number of addresses or callers that are remembered, for that and for NDD_RATE_LIMIT; the oldest is forgotten first. */
export const authAddressesMax = 10_000

/** Number of requests that /api/v2/logs can return. */
export const requestLogMax = 500
export const requestLogDefault = 100

/** Characters of an invalid text that an error repeats. */
export const errorValueLengthMax = 64
/** A shutdown waits this long for requests in progress before it closes their connections. */
export const shutdownGraceMs = 8_000
/** A second signal ends the process immediately if this time has passed since the first. */
export const secondSignalAfterMs = 10_000
