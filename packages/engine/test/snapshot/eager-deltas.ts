// Limits with which checkpoints of tests contain only changes wherever they can, whatever the size of a part.
import type { DeltaLimits } from '../../src/snapshot/delta-limits.ts'

export const eagerDeltas: DeltaLimits = { partBytesMin: 0, shareMax: 1_000, countMax: 3 }
