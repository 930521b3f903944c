// Every limit of the log and its reason. Sizes are in bytes, times in milliseconds.

const MIB = 1024 * 1024

/**
 * One request is one record: 1,000 vectors of 10,000 float32 are 40 MB, hence 64 MiB. Checked before memory is
 * allocated.
 */
export const payloadBytesMax = 64 * MIB
/** A segment is sealed when it has grown past this size (etcd 64 MB, Qdrant 32 MB, PostgreSQL 16 MB). */
export const segmentBytesMax = 64 * MIB
/** Limits of one write and one sync, so that the first waiting client does not wait for the bytes of the last. */
export const batchBytesMax = 8 * MIB
export const batchRecordsMax = 1024
/** Limits of the queue in front of the writer. More is refused: an unbounded queue is a memory leak with a delay. */
export const queueBytesMax = 64 * MIB
export const queueRecordsMax = 4096
/** Pieces of at least this size are written from their own buffer, without a copy. */
export const directWriteBytesMin = 128 * 1024
/** Bytes read at once when the log is scanned. */
export const readBlockBytes = MIB
/** Torn tails that are kept for a later inspection: so many files, and so many bytes in all of them. The newest ones are kept. */
export const tornFilesMax = 8
export const tornBytesMax = 64 * MIB
/** After this time without a write, an empty marker stamps the newest record as durable. */
export const markerDelayMs = 50
/** TIP is synced at most this often. */
export const tipSyncMs = 100
/** With the policy `interval`, written records become durable within this time. */
export const fsyncIntervalMs = 100
/** Below this much free space the log becomes read-only, before the disk refuses a write. */
export const freeBytesHard = 64 * MIB
/** The log leaves the read-only state after this much has been free for `resumeAfterMs`. */
export const freeBytesLow = 256 * MIB
/**
 * Reserved for records that free space, on a disk with less than `reserveBelowBytes` free: enough for thousands of
 * deletions.
 */
export const reserveBytes = 4 * MIB
/** With more free space than this, nothing fills the disk between two checks. */
export const reserveBelowBytes = 16 * 1024 * MIB
export const resumeAfterMs = 5000
export const spaceCheckMs = 1000
/** A sync slower than this is reported. */
export const slowSyncMs = 1000
/** Pauses between two attempts to reach the store of a replicated log. */
export const retryPauseMinMs = 20
export const retryPauseMaxMs = 1000
/** After this long without a stored message, a leader compares the end of the store with what it knows: an outage of a store takes longer. */
export const endCheckMs = 1000
/** A replicated log that is closed while its store does not answer waits this long for the outcome of its last append. */
export const closeWaitMs = 10_000
