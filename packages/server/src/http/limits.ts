// The limits of HTTP itself; those of vectors, names and queries are the engine's. SECURITY.md 4.2 names the figures.

const mebibyte = 1_048_576

/** Bodies of calls that carry neither vectors nor filters. */
export const bodyBytesMax = mebibyte
/** Searches, reads and filters: 256 vectors of 1,024 numbers written out in JSON are 6 MB, 100 searches with 1,536 dimensions 4 MB. */
export const bodyBytesQueryMax = 8 * mebibyte
/** The largest batch of SPEC.md, 1,000 vectors of 10,000 dimensions, is 90 MB as the published JavaScript client writes it. */
export const bodyBytesUpsertMax = 96 * mebibyte
/** 1,000 whole filters of 16 KiB; the engine takes filters up to 64 KiB, one at a time. */
export const bodyBytesFiltersMax = 16 * mebibyte
/** All bodies being read or worked on at one time are 256 MiB: a share for those above bodyBytesMax, so that uploads cannot crowd out questions. */
export const largeBodiesBytesMax = 192 * mebibyte
export const smallBodiesBytesMax = 64 * mebibyte

/** A body that gains less than this in this time is given up; Node's own limit on the whole of a request is off. */
export const bodyProgressMs = 30_000
export const bodyProgressBytesMin = 65_536
/**
 * What is left of a body whose request was answered is read and thrown away, so that a client that sends all of it before it reads
 * gets the reply: at most so much, for so long. Twice the largest body that any route takes.
 */
export const unreadBytesMax = 2 * bodyBytesUpsertMax
export const unreadMs = 120_000
/** What a reply may carry of stored data, vectors as 32-bit floats: as much as one record of the log, so that what one call stored one call reads. */
export const replyBytesMax = 65 * mebibyte
/** A page ends before it would carry more; clients go on with its cursor. */
export const pageBytesMax = 16 * mebibyte
/** Replies longer than this are written in pieces of about this size, each when the reader has taken the one before. */
export const replyPieceBytes = 131_072

/** Replies above this size are given up when their reader takes nothing for so long. */
export const largeReplyBytes = 65_536
export const readerTimeoutMs = 30_000
/** What all such replies carry of stored data until their readers have taken them. */
export const largeRepliesBytesMax = 96 * mebibyte
export const headersTimeoutMs = 10_000
export const keepAliveTimeoutMs = 5_000
/** Node looks for timed-out connections only this often; its own default of 30 s would let a slow client stay. */
export const connectionsCheckingIntervalMs = 1_000
/** Two thousand idle connections block no one. */
export const connectionsMax = 4_096
/** Requests worked on at one time; a pipelining client may have several on one connection. */
export const requestsInFlightMax = 1_024
/** Of each kind, so that writers who wait for a backup or a disk cannot keep out those who only ask, nor the other way round. */
export const writesInFlightMax = requestsInFlightMax / 2
export const questionsInFlightMax = requestsInFlightMax / 2
export const requestsPerSocketMax = 1_000
export const headerBytesMax = 16_384
/** An id of 512 bytes takes three characters per byte when it is written into a path. */
export const pathParamLengthMax = 2_048

/** Host headers that passed are remembered, so that each is parsed once. */
export const hostsRememberedMax = 256
/** Browsers keep the answer to a preflight so long; Chromium keeps none for longer. */
export const preflightMaxAgeS = 7_200
/** Larger bodies of routes that take lists are read while they arrive. */
export const bodyBytesAtOnceMax = 262_144
/** An entry of a list without its vectors: id, meta and filter at their limits, every character of them escaped. */
export const itemTextBytesMax = mebibyte
/** Numbers of one array of a list's entry: terms of a sparse vector; a dense one has at most 10,000. */
export const vectorNumbersMax = 65_536
/** Characters of one number; a double written out in full has some 770 digits. */
export const jsonNumberBytesMax = 1_024
/** Arrays, objects and keys in a body that is read at once, not counting the numbers and strings in them. */
export const bodyNodesMax = 131_072

/** Values in a body that is read at once, and in one MessagePack body whose shape is not known beforehand. */
export const bodyElementsMax = 2_000_000

/** Nesting of a JSON body: 32 levels of meta or filter inside `{objects:[{meta:...}]}`. */
export const jsonBodyDepthMax = 36
export const msgpackDepthMax = 32

/** Wrong tokens that are compared within a minute, from one address (of IPv6: one /64) and from all; beyond that 429. */
export const authFailuresMax = 10
export const authFailuresOfServerMax = 100
export const authWindowMs = 60_000
/** An address that used the right token is compared beyond that for a day; the time is written down once a minute. */
export const authRememberedMs = 24 * 3_600_000
export const authRefreshMs = 60_000
/** A wrong token is answered after a second; so many answers wait at one time, and more are given at once. */
export const authDelayMs = 1_000
export const authDelayedMax = 100
/** SPEC.md: a trial of one month; the published service says 30 days. */
export const trialMs = 30 * 24 * 3_600_000
/** A license may start so much later than this machine's clock says: clocks differ, and it was issued just now. */
export const licenseClockLeewayMs = 24 * 3_600_000

/** Addresses, or callers, remembered for that and for NDD_RATE_LIMIT; the oldest is forgotten first. */
export const authAddressesMax = 10_000

/** Requests that /api/v2/logs can tell of. */
export const requestLogMax = 500
export const requestLogDefault = 100

/** How much of an offending text an error repeats. */
export const errorValueLengthMax = 64
/** How long a shutdown waits for running requests before it closes their connections. */
export const shutdownGraceMs = 8_000
/** A second signal ends the process at once when this much time has passed since the first. */
export const secondSignalAfterMs = 10_000
