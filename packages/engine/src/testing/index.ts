// What tests of other packages may use besides the public door.

export type { EngineParts } from '../engine.ts'
export { FilterIndex } from '../filter/filter-index.ts'
export { parseFilter } from '../filter/parse-filter.ts'
export { type ByteSource, SectionReader, sourceOf, writeSections } from '../memory/sections.ts'
export { rulesNewest } from '../model/schema.ts'
export { planDense } from '../search/plan.ts'
export { candidatesFor } from '../search/rescore.ts'
export { openDenseField } from '../vector/dense/field.ts'
export { openWorkerPool } from '../vector/open-pool.ts'
export type { WorkerPool } from '../vector/pool.ts'
