// The loads that are measured, each with its name in the results.
import type { CorpusName } from './corpus.ts'
import type { BodyForm, FilterName, OtherForm } from './requests.ts'

export interface Row {
  readonly name: string
  readonly corpus: CorpusName
  readonly connections: number
  readonly form: BodyForm | OtherForm
  /** The smallest ef that reaches it is used. */
  readonly recall: number
  /** Used instead. */
  readonly ef?: number
  readonly filter?: FilterName
  /** An open loop at this share of the throughput of the closed loop. */
  readonly openShare?: number
  /** An open loop at this rate, the same for every server. */
  readonly openPerSecond?: number
  /** Next to one client that upserts 100 objects again and again. */
  readonly hasWriter?: boolean
  /** The name of another row, to which this one is compared round by round. */
  readonly comparedWith?: string
  /** The replies have no meaning. */
  readonly isSpin?: boolean
}

const base = { corpus: 'images', form: 'json', recall: 0.99 } as const
/** Searches of a sparse field are exact. */
const terms = { corpus: 'terms', connections: 8, recall: 1, ef: 64 } as const

export const rows: readonly Row[] = [
  { ...base, name: 'health', connections: 8, form: 'health' },
  { ...base, name: '32 connections', connections: 32, recall: 0.985 },
  { ...base, name: '8 connections', connections: 8 },
  { ...base, name: '1 connection', connections: 1 },
  { ...base, name: '100 connections', connections: 100 },
  { ...base, name: '1,000 connections', connections: 1_000 },
  { ...base, name: 'open loop at 70 %', connections: 32, openShare: 0.7 },
  // About 70 % of the throughput of one thread on two cores. The share above is one of the cores too, of which the clients need some.
  { ...base, name: 'open loop at 6800 a second', connections: 32, openPerSecond: 6_800 },
  { ...base, name: 'open loop at 9500 a second', connections: 32, openPerSecond: 9_500 },
  { ...base, name: '1 % filter', connections: 8, filter: '1 %' },
  { ...base, name: '10 % filter', connections: 8, filter: '10 %' },
  { ...base, name: 'as Python sends it', connections: 8, form: 'python' },
  { ...base, name: 'MessagePack', connections: 8, form: 'msgpack' },
  { ...base, name: 'MessagePack, 32 connections', connections: 32, form: 'msgpack', recall: 0.985 },
  { ...base, name: 'bin', connections: 8, form: 'bin' },
  { ...base, name: 'bin, 32 connections', connections: 32, form: 'bin', recall: 0.985 },
  { ...base, name: 'only bytes', connections: 8, form: 'octets' },
  { ...base, name: 'base64', connections: 8, form: 'base64' },
  { ...base, name: '768 short numbers', corpus: 'texts', connections: 8 },
  {
    ...{ ...base, name: '768 numbers of 17 digits', corpus: 'texts', connections: 8, form: 'digits' },
    comparedWith: '768 short numbers',
  },
  { ...base, name: 'get of one', connections: 8, form: 'get' },
  { ...base, name: 'get of 16', connections: 8, form: 'get 16' },
  { ...base, name: 'batch of 10', connections: 8, form: 'batch 10' },
  { ...base, name: 'batch of 100', connections: 8, form: 'batch 100' },
  { ...terms, name: 'sparse', form: 'sparse' },
  { ...terms, name: 'forwarded sparse', form: 'forwarded sparse', comparedWith: 'sparse' },
  { ...terms, name: 'hybrid', form: 'hybrid' },
  { ...terms, name: 'forwarded hybrid', form: 'forwarded hybrid', comparedWith: 'hybrid' },
  { ...base, name: 'next to a writer', connections: 8, hasWriter: true },
  // Servers that answer more searches in a closed loop leave less time to the writer. Here all of them answer the same number.
  { ...base, name: 'fixed rate next to a writer', connections: 32, openPerSecond: 1_500, hasWriter: true },
]

/** Every combination; hours. */
export function gridRows(): Row[] {
  return [1, 8, 32, 100, 1_000].flatMap((connections) =>
    (['json', 'msgpack', 'bin'] as const).flatMap((form) =>
      ([undefined, '1 %', '10 %'] as const).flatMap((filter) =>
        [undefined, 0.7].flatMap((openShare) =>
          [false, true].map((hasWriter): Row => {
            const parts = [`${connections} connections`, form, filter && `${filter} filter`, openShare && 'open loop']
            return {
              ...base,
              name: [...parts, hasWriter && 'next to a writer'].filter(Boolean).join(', '),
              connections,
              form,
              ...(filter && { filter }),
              ...(openShare && { openShare }),
              hasWriter,
            }
          }),
        ),
      ),
    ),
  )
}
