// The state of the originals of one field in memory: which slot each ordinal has, and how it is saved in snapshots. Specified in
// docs/formats/snapshot.md.
import { Column } from '../memory/column.ts'
import { type DumpOptions, numbersPart, type Section, type SectionReader, sectionOf } from '../memory/sections.ts'

/** The slots of the vectors of one field. */
export interface OriginalsState {
  /** Number of assigned slots. */
  readonly end: number
  readonly slots: Column
  /** A `vectorForm` of each ordinal; absent while all are `unit`. */
  readonly forms?: Column | undefined
  /** Of a field in which an object can have several vectors. */
  readonly several?: SeveralState | undefined
}

/** What a multi-vector field keeps in addition. */
export interface SeveralState {
  /** Number of vectors of each ordinal. */
  readonly counts: Column
  /** Chained over the checksums of all rows ever appended; the digest includes it instead of their contents. */
  chain: bigint
}

/** The sections of the state. */
export function dumpOriginalsState(
  { end, slots, forms, several }: OriginalsState,
  name: string,
  ordinalEnd: number,
  options: DumpOptions,
): Section[] {
  const slotsSection = slots.dump(`${name}.slots`, ordinalEnd, options)
  if (several === undefined) {
    if (forms === undefined) return [sectionOf(name, numbersPart([end])), slotsSection]
    const head = sectionOf(name, numbersPart([end, 1]))
    return [head, slotsSection, forms.dump(`${name}.forms`, ordinalEnd, options)]
  }
  const { counts, chain } = several
  const numbers = [end, Number(chain & 0xffffffffn), Number(chain >> 32n)]
  return [sectionOf(name, numbersPart(numbers)), slotsSection, counts.dump(`${name}.counts`, ordinalEnd, options)]
}

/** Loads what `dumpOriginalsState` saved. Throws snapshot_damaged. */
export async function loadOriginalsState(
  reader: SectionReader,
  name: string,
  { ordinalEnd, several }: { readonly ordinalEnd: number; readonly several: boolean },
): Promise<OriginalsState> {
  const body = await reader.open(name)
  const hasForms = !several && body.length > 8
  const [end = 0, low = 0, high = 0] = await body.takeNumbers(several ? 3 : hasForms ? 2 : 1)
  await body.end()
  const slots = await Column.load(reader, `${name}.slots`, 'u32', ordinalEnd)
  if (!several)
    return { end, slots, forms: hasForms ? await Column.load(reader, `${name}.forms`, 'u8', ordinalEnd) : undefined }
  const counts = await Column.load(reader, `${name}.counts`, 'u32', ordinalEnd)
  return { end, slots, several: { counts, chain: (BigInt(high) << 32n) | BigInt(low) } }
}
