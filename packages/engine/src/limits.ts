// Everything has a limit, and all of them stand here with where they come from. The ones an operator may raise are in Limits.

/** SPEC.md: "Dense dimension max 10000"; below 2 a direction has no meaning. */
export const dimensionMin = 2
export const dimensionMax = 10_000
/** Same bounds as the published servers that the clients were written for. */
/** Length of a vector: products and squared distances of longer ones, or of cosine vectors times their length, leave the range of float32. */
export const lengthMax = 1e18
export const cosineLengthMax = 1e38
export const mMin = 4
export const mMax = 512
export const efConstructionMin = 8
export const efConstructionMax = 4_096
export const efMax = 1_024
export const prefilterThresholdMin = 1_000
export const prefilterThresholdMax = 1_000_000
export const filterBoostMax = 100
/** More fields than any published client creates. */
export const fieldsMax = 8
/** Collection, field, database and backup names. */
export const nameLengthMax = 64
export const idBytesMax = 512
export const metaBytesMax = 65_536
/** What the stored meta of one object may inflate to where it is read as JSON; beyond metaBytesMax also at most so many times its stored bytes. */
export const metaPlainBytesMax = 1_048_576
export const metaRatioMax = 100
/** What the meta of all objects of one answer may inflate to. */
export const metaAnswerPlainBytesMax = 32 * metaPlainBytesMax
export const filterBytesMax = 65_536
export const filterKeysMax = 256
export const filterKeyBytesMax = 256
export const filterStringBytesMax = 1_024
/** Conditions of one query, counted through $and, $or and $not: each costs a pass over what it matches. */
export const filterConditionsMax = 64
/** Values of one $in or $nin. */
export const filterOperandsMax = 10_000
/** Distinct filter keys of one collection; each has an index of its own. */
export const filterKeysOfCollectionMax = 16_384
/** Nesting of meta and filter values; deeper values break JSON.stringify and structuredClone long before they help anyone. */
export const jsonDepthMax = 32
export const sparseDimensionMax = 2 ** 32
export const sparseTermsMax = 65_536
/** Vectors of one object in a multi-vector field: pages and images of the models in use have up to 1,030. */
export const membersMax = 2_048
/** Vectors of one query of a multi-vector field: each is compared with every member of every candidate. */
export const queryMembersMax = 256
/** Searches of one batch. */
export const searchesMax = 100
export const facetValuesMax = 10_000
/** A database, a token and a setting each cost the catalog some hundred bytes, in memory and in every checkpoint. */
export const databasesMax = 10_000
export const tokensOfDatabaseMax = 100
export const settingsMax = 64
export const settingValueBytesMax = 4_096
export const recallSampleMax = 1_000
/** Events of the log in one reply; the ids that each of them lists. */
export const eventsMax = 500
export const eventIdsMax = 10
/** Buckets of one reply about activity: more than a screen shows. */
export const activityBucketsMax = 1_000
/** Of the log, in one call that looks back. The segment that crosses it is read to its end, so that a call reads one as a rule. */
export const historyStepBytesMax = 32 * 1024 * 1024

/** What an operator may raise: `configurable` is the ceiling of the setting. */
export interface Limits {
  /** Results per query; SPEC.md says 512, up to 4,096 on request. */
  readonly topKMax: number
  /** Objects per upsert; SPEC.md says 1,000, up to 10,000 on request. */
  readonly batchMax: number
  /** Collections of one data directory. */
  readonly collectionsMax: number
  /** Of one backup or restore: what takes longer hangs, as a rule, and nobody else gets a turn. */
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
