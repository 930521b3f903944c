// Every limit and its reason. An operator may raise those in Limits.

/** From the published API: a dimension of at most 10,000. A single dimension has no direction. */
export const dimensionMin = 2
export const dimensionMax = 10_000
/**
 * Maximum norm of a vector: for longer vectors, products, squared distances or rescaled cosine vectors exceed the range
 * of float32.
 */
export const lengthMax = 1e18
export const cosineLengthMax = 1e38
/** Bounds of M, ef_construction, and ef: those of the published servers that the clients were written for. */
export const mMin = 4
export const mMax = 512
export const efConstructionMin = 8
export const efConstructionMax = 4_096
export const efMax = 1_024
/** A recall of 1 needs `exact`. */
export const recallTargetMin = 0.01
export const recallTargetMax = 0.999
export const prefilterThresholdMin = 1_000
export const prefilterThresholdMax = 1_000_000
export const filterBoostMax = 100
/** More fields than any published client creates. */
export const fieldsMax = 8
/** Names of collections, fields, databases and backups. */
export const nameLengthMax = 64
export const idBytesMax = 512
export const metaBytesMax = 65_536
/**
 * Maximum inflated size of one object's meta when it is read as JSON; beyond metaBytesMax it is also limited to a
 * multiple of the stored bytes.
 */
export const metaPlainBytesMax = 1_048_576
export const metaRatioMax = 100
/** Nesting of JSON that is returned as JSON. Parsers and writers of JSON use their stack: Python's allows 1,000. */
export const metaReadDepthMax = 256
/** Maximum inflated size of the meta of all objects in one response. */
export const metaAnswerPlainBytesMax = 32 * metaPlainBytesMax
export const filterBytesMax = 65_536
export const filterKeysMax = 256
export const filterKeyBytesMax = 256
export const filterStringBytesMax = 1_024
/** Conditions of one query, counted through $and, $or and $not: each costs a pass over its matches. */
export const filterConditionsMax = 64
/** Values of one $in or $nin. */
export const filterOperandsMax = 10_000
/** UTF-8 bytes of a term of a text field. Longer words are cut: they are data, such as a key in base64. */
export const termBytesMax = 256
/** Words of one list of a text field: stop words, or words that are not stemmed. The lists are in every definition that has the field. */
export const wordListMax = 10_000
/** Characters of the longest beginning of a word that is indexed. */
export const wordPrefixMax = 32
/** A hundred years. */
export const ttlSecondsMax = 3_155_760_000
/** The end of the year 9999, in milliseconds since 1970. */
export const expiresAtMax = 253_402_300_799_999
/** Ids in one record of expired objects. */
export const expiredIdsMax = 10_000
/** Distinct filter keys of one collection; each key has its own index. */
export const filterKeysOfCollectionMax = 16_384
/**
 * Nesting of meta and filter values; deeper values break JSON.stringify and structuredClone long before they are
 * useful.
 */
export const jsonDepthMax = 32
export const sparseDimensionMax = 2 ** 32
export const sparseTermsMax = 65_536
/** Bytes of a text in one field of an object, as UTF-8: a book of 100,000 words; longer documents are split. */
export const textBytesMax = 524_288
/** Distinct terms of one text. */
export const textTermsMax = sparseTermsMax
/** Bytes of the texts and terms of all fields of an object: what its record has besides meta and filter values. */
export const objectTermsBytesMax = 917_440
/** Bytes that a term takes of them. */
export const objectTermBytes = 8
/** Bytes of the words of one query of a text field, and the terms that it may become. */
export const textQueryBytesMax = 16_384
export const textQueryTermsMax = 1_024
/** Bytes of the name of a model that makes vectors. */
export const embedModelBytesMax = 256
/** Bytes of the tokens of texts that a thread keeps for later phrases: 16 million tokens. */
export const keptTokensBytesMax = 64 * 1024 * 1024
/** Bytes of a text that becomes the vector of a query: more than the models read. */
export const embedQueryBytesMax = 131_072
/** Characters of the reason why a text has no vector, as errors repeat it. */
export const embedReasonLengthMax = 300
/** Parts of one query of a text field. */
export const textClausesMax = 64
/**
 * Clauses of `should` that count only in texts with all of their words: phrases, and words with `and`. Texts are searched once for each set of them
 * that some text has.
 */
export const conditionalClausesMax = 8
/** Words of one phrase. */
export const phraseWordsMax = 128
/** Terms that a prefix or a misspelled word stands for: the most frequent ones. */
export const expandedTermsMax = 128
/** Letters that differ between a word and what is found for it. */
export const editsMax = 2
export const slopMax = 100
export const boostMax = 1_000
export const k1Max = 100
/** Vectors of one object in a multi-vector field: pages and images of current models have up to 1,030. */
export const membersMax = 2_048
/** Vectors of one query in a multi-vector field: each is compared with every member of every candidate. */
export const queryMembersMax = 256
/** Searches of one batch. */
export const searchesMax = 100
/** Hits of one group of a search, and of all its groups together. */
export const groupHitsMax = 100
export const groupedHitsMax = 10_000
export const facetValuesMax = 10_000
/** A database, a token or a setting costs the catalog some hundred bytes, in memory and in every checkpoint. */
export const databasesMax = 10_000
export const tokensOfDatabaseMax = 100
/** An alias costs the catalog some hundred bytes, and each of its changes a record. */
export const aliasesOfDatabaseMax = 1_000
export const settingsMax = 64
/** Visible ASCII characters of a request key; headers of other APIs allow as many. */
export const requestKeyLengthMax = 255
/** Characters of the actor of a write; a name, not a document, because every record has it. */
export const actorLengthMax = 128
/** What a repetition returns besides the LSN, as JSON in the record; most of it has 20 bytes. */
export const requestFactsBytesMax = 16_384
/** A write with a key that is running is waited for this long: less than a server waits for the rest of a body. */
export const requestWaitMs = 20_000
export const requestKeysDefault = 1_000_000
export const requestKeysConfigurable = 10_000_000
export const requestKeyHoursDefault = 24
export const requestKeyHoursMax = 8_760
/** Memory of moments that were loaded from checkpoints: as much as a collection of a million vectors of 128 dimensions. */
export const asOfLoadedBytesDefault = 1_024 * 1024 * 1024
/** The recent past that live collections answer, and its memory in the process. */
export const asOfWindowSecondsDefault = 600
export const asOfWindowSecondsMax = 86_400
export const asOfWindowBytesDefault = 256 * 1024 * 1024
/** Moments that wait to be loaded, one after the other. More are refused. */
export const pastStatesWaitingMax = 16
/** A loaded moment may need so much memory for each byte of its files: about 2 for short texts, about 1 for vectors. */
export const memoryPerImageByte = 2
/** A new field may take so much memory with its first objects. */
export const memoryOfField = 1024 * 1024
/** A loaded moment that nobody reads is closed after this time. */
export const pastStateIdleMs = 600_000
export const settingValueBytesMax = 4_096
export const recallSampleMax = 1_000
/** A read that names an LSN waits this long for it. */
export const minLsnWaitMs = 5_000
/** Fewer queries say nothing about recall. */
export const calibrationSampleMin = 20
/** Events of the log in one reply; the ids that each of them lists. */
export const eventsMax = 500
export const eventIdsMax = 10
/** Buckets of one reply about activity: more than a screen shows. */
export const activityBucketsMax = 1_000
/**
 * Bytes of the log that one call reads. The segment that crosses the limit is read to its end, so a call normally reads
 * one segment.
 */
export const historyStepBytesMax = 32 * 1024 * 1024

/** Cursors of one database: each is in the catalog of every checkpoint. */
export const cursorsOfDatabaseMax = 100
/** The position of a cursor is a record of the log at most this often. */
export const cursorEveryMs = 1_000
/** Names of collections, and of kinds, in one request for changes. */
export const feedNamesMax = 1_000
/** Payload bytes of the newest records that all consumers of the feed share; a consumer that is behind them reads files. */
export const feedTailBytesMax = 16 * 1024 * 1024
/** Bytes of the log that a consumer behind the newest records reads at a time; a longer record is read whole. */
export const feedStepBytesMax = 1024 * 1024
/** Changes in one batch. */
export const feedBatchMax = 1_000
/** While records keep coming, consumers are woken together, this often. The first record after a pause wakes them at once. */
export const feedPaceMs = 50
/** For each consumer they are woken that much less often, so that many of them cost writers no more than a few. */
export const feedPacePerConsumerMs = 2
/** With lazy syncs, consumers wait this long for a sync, then they request one: they get only what is durable. */
export const feedSyncMs = 100
/** Versions of an object in one reply. */
export const versionsMax = 500
/** Ids that one undo takes; a filter may match more. */
export const undoIdsMax = 10_000
/** Bytes of the content that one undo restores: it is one record, which may have 64 MiB. */
export const undoBytesMax = 32 * 1024 * 1024
/** Ids that a comparison of two moments keeps in memory, at about 150 bytes each. */
export const diffIdsMax = 1_000_000

/** Limits that an operator may raise; `configurable` is the ceiling of the setting. */
export interface Limits {
  /** Results of one query: 512 in the published API, up to 4,096 on request. */
  readonly topKMax: number
  /** Objects of one upsert: 1,000 in the published API, up to 10,000 on request. */
  readonly batchMax: number
  /** Collections of one data directory. */
  readonly collectionsMax: number
  /** Duration of one backup or restore: a longer one usually hangs and blocks the next. */
  readonly backupMsMax: number
}

const hourMs = 3_600_000

export const limitsDefault: Limits = { topKMax: 512, batchMax: 1_000, collectionsMax: 10_000, backupMsMax: 6 * hourMs }
export const limitsConfigurable: Limits = {
  topKMax: 4_096,
  batchMax: 10_000,
  collectionsMax: 100_000,
  backupMsMax: 7 * 24 * hourMs,
}

/**
 * Counted in a result for each object in addition to its bytes: the id, scores, and the JavaScript objects that hold them. Measured with 51,200
 * hits: 450 bytes of V8, and about 300 of the allocator for the meta, which is in a buffer of its own.
 */
export const objectOverheadBytes = 768
/** The same where a reader writes a reply directly from shared memory, without objects, and for what a reply repeats. */
export const writtenOverheadBytes = 256
/** Counted for each vector of a result in addition to its numbers: the JavaScript objects, and a buffer of its own. */
export const vectorOverheadBytes = 448
