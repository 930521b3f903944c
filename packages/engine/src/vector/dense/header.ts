// The words at the start of every arena by which host and kernel find everything else in it. assembly/layout.ts has the same
// numbers.

/** Words of the header, counted from its start. */
export const header = {
  address: 4096,
  magic: 0,
  dimension: 1,
  codeBytes: 2,
  codeStride: 3,
  M: 4,
  M0: 5,
  efConstruction: 6,
  blockShift: 7,
  metric: 8,
  precision: 9,
  coldStride: 10,
  inBlockLinks: 11,
  inBlockUpper: 12,
  inBlockNorms: 13,
  inBlockCold: 14,
  unitShift: 15,
  center: 16,
  blockTable: 17,
  unitTable: 18,
  scratchTable: 19,
  touched: 20,
  rules: 21,
  followers: 22,
  leaders: 23,
  classes: 24,
  classesMax: 25,
  headTable: 26,
  /** Address of the projection, 0 until there is space for it. */
  projection: 27,
  end: 32,
  rows: 33,
  dead: 34,
  linked: 35,
  entry: 36,
  units: 37,
  unchecked: 38,
  /** 1: every row has a head. */
  heads: 39,
  /** Number of slots of the table of equal rows. 0: the next job builds the table. */
  classSlots: 41,
  jobLimit: 64,
  jobItems: 72,
  jobForward: 73,
  jobKind: 66,
  jobForwardLevels: 74,
  jobFirst: 75,
  /** Offset of the encodable vectors in the staging buffer of the pool. */
  jobVectors: 78,
  jobOrder: 79,
} as const

export const headerBytes = 4096
/** In the first word: "ANNL". */
export const magic = 0x4c4e4e41
/** No row, no version. */
export const none = 0xffffffff
/** Words of a list from here on are not neighbors. */
export const marked = 0x80000000
