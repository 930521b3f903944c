export type {
  AnonymizeOptions,
  /** @deprecated Use `AnonymizeOptions`. */
  AnonymizeOptions as AnonymiseOptions,
} from './anonymize.ts'
export { type Comparison, compareResults } from './compare.ts'
export { type EngineTargetOptions, engineTarget } from './engine-target.ts'
export { type GenerateOptions, generateTrace } from './generate.ts'
export type { Percentiles, Stretch } from './measure.ts'
export { type RecordOptions, recordTrace } from './record.ts'
export { type ReplayOptions, type ReplayResult, replayTrace } from './replay.ts'
export { reportOf } from './report.ts'
export { serverTarget } from './server-target.ts'
export type { ReplayTarget } from './target.ts'
export {
  ReplayError,
  type ReplayErrorCode,
  type TraceEntry,
  type TraceEvent,
  type TraceHead,
  type TraceQuery,
  type TraceSummary,
} from './trace.ts'
export { type OpenTrace, openTrace, TraceWriter } from './trace-file.ts'
export { type PairedQuestion, type PairedVerdict, pairedVerdict } from './verdict.ts'
export { type Workload, type WorkloadSize, workloads } from './workloads.ts'
