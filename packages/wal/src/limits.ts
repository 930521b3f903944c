// Every limit of the log and where it comes from. Sizes are in bytes, times in milliseconds.

const MIB = 1024 * 1024

/** One request is one record: 1,000 vectors of 10,000 float32 are 40 MB, hence 64 MiB. Checked before anything is allocated. */
export const payloadBytesMax = 64 * MIB
/** A segment is sealed when it has grown past this (etcd 64 MB, Qdrant 32 MB, PostgreSQL 16 MB). */
export const segmentBytesMax = 64 * MIB
/** What one write and one sync may carry, so that the first waiting client does not wait for the last one's bytes. */
export const batchBytesMax = 8 * MIB
export const batchRecordsMax = 1024
/** What may wait for the writer; more is refused, because a queue without a bound is a memory leak with a delay. */
export const queueBytesMax = 64 * MIB
export const queueRecordsMax = 4096
/** Pieces at least this big go to the disk from where they are, without a copy. */
export const directWriteBytesMin = 128 * 1024
/** How much is read at once when the log is scanned. */
export const readBlockBytes = MIB
/** How much of a torn tail is kept for a look later. */
export const tornBytesMax = 64 * MIB
/** With nothing written for this long, an empty marker stamps the newest record as durable. */
export const markerDelayMs = 50
/** TIP is synced at most this often. */
export const tipSyncMs = 100
/** With the policy `interval`, written records become durable within this time. */
export const fsyncIntervalMs = 100
/** Below this much free space the log goes read-only before the disk refuses. */
export const freeBytesHard = 64 * MIB
/** It leaves the read-only state when this much has been free for `resumeAfterMs`. */
export const freeBytesLow = 256 * MIB
/** Kept for records that free something, on a disk with less than `reserveBelowBytes` free: thousands of drops, or deletes. */
export const reserveBytes = 4 * MIB
/** With more free than this nobody fills the disk between two looks at it. */
export const reserveBelowBytes = 16 * 1024 * MIB
export const resumeAfterMs = 5000
export const spaceCheckMs = 1000
/** A sync slower than this is reported. */
export const slowSyncMs = 1000
