// Writes a generated workload as a trace.
import { ReplayError, type TraceSummary } from './trace.ts'
import { TraceWriter } from './trace-file.ts'
import { type Workload, type WorkloadSize, workloadEntries, workloads } from './workloads.ts'

/** The trace to generate. `onProgress` gets the number of entries that are written. */
export interface GenerateOptions extends Partial<WorkloadSize> {
  readonly workload: Workload
  /** Must not exist. */
  readonly out: string
  readonly onProgress?: (entries: number) => void
}

/** The same options produce the same file, byte for byte. Throws ReplayError invalid_argument, file_exists. */
export async function generateTrace(options: GenerateOptions): Promise<TraceSummary> {
  const { workload, out, onProgress } = options
  if (!workloads.includes(workload)) {
    const message = `workload must be one of ${workloads.join(', ')}, got ${String(workload)}`
    throw new ReplayError('invalid_argument', message, { field: 'workload', value: workload })
  }
  const size: WorkloadSize = {
    objects: checked('objects', options.objects ?? 10_000, 10, 100_000_000),
    dimension: checked('dimension', options.dimension ?? 128, 2, 10_000),
    batch: checked('batch', options.batch ?? 100, 1, 1_000),
    queriesPerThousand: checked('queriesPerThousand', options.queriesPerThousand ?? 50, 0, 100_000),
    seed: checked('seed', options.seed ?? 1, 0, 2 ** 32 - 1),
  }
  const description = `${workload}: ${size.objects} objects of ${size.dimension} numbers, seed ${size.seed}`
  const writer = await TraceWriter.create(out, { origin: 'generated', description, anonymised: false, rotated: false })
  try {
    let entries = 0
    for (const entry of workloadEntries(workload, size)) {
      await writer.write(entry)
      onProgress?.(++entries)
    }
    return await writer.finish()
  } catch (error) {
    await writer.abandon()
    throw error
  }
}

function checked(field: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value
  throw new ReplayError('invalid_argument', `${field} must be a whole number from ${min} to ${max}, got ${value}`, {
    field,
    value,
    limit: value < min ? min : max,
  })
}
