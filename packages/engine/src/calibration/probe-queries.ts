// Makes queries for fields that have received too few. Stored rows are too easy: a walk that reaches such a row finds the rest of the result
// in its list. A probe is a row that is moved by the difference of two other neighboring rows, so it is as far from the data as rows are from
// their neighbors, in directions in which the data varies.
import type { DenseFieldSchema } from '../model/schema.ts'
import { lengthOf, scaleToUnit } from '../model/vector-form.ts'
import type { Replica } from '../replica/replica.ts'
import { isRescored } from '../search/rescore.ts'
import type { DenseField } from '../vector/field.ts'
import { createRandom } from './random.ts'

/** The second row of a difference is one of this many nearest to the first. */
const neighbors = 10
const neighborEf = 32
/** Part of the difference that is added. */
const moved = 1

export interface ProbeSource {
  readonly fieldIndex: number
  readonly definition: DenseFieldSchema
  replica(): Replica
  rest(): Promise<void>
}

/** Up to `count` probes, none for a field without rows. The same rows give the same probes. */
export async function makeProbes(source: ProbeSource, count: number): Promise<Float32Array[]> {
  const { fieldIndex, replica, rest } = source
  const first = replica()
  const dense = first.dense[fieldIndex] as DenseField
  const ordinals = first.filters
    .evaluate([])
    .bitmap.toOrdinals()
    .filter((ordinal) => dense.has(ordinal, first.version))
  if (ordinals.length === 0) return []
  const random = createRandom(ordinals.length)
  const pick = () => ordinals[Math.floor(random() * ordinals.length)] as number
  const probes: Float32Array[] = []
  for (let i = 0; i < count; i++) {
    const probe = await makeProbe(source, [pick(), pick(), random()])
    if (probe !== undefined) probes.push(probe)
    await rest()
  }
  return probes
}

/** Undefined if one of the rows was removed meanwhile. */
async function makeProbe(
  source: ProbeSource,
  [moving, from, chance]: readonly [number, number, number],
): Promise<Float32Array | undefined> {
  const { fieldIndex, definition } = source
  const replica = source.replica()
  const { version } = replica
  const release = replica.pins.pin(version)
  try {
    const field = replica.dense[fieldIndex] as DenseField
    if (!field.has(moving, version) || !field.has(from, version)) return undefined
    const start = await vectorOf(replica, source, from)
    const near = await field.search(start, { k: neighbors + 1, ef: neighborEf, version })
    const others = near.ordinals.filter((ordinal) => ordinal !== from).subarray(0, neighbors)
    const to = others[Math.floor(chance * others.length)]
    const probe = (await vectorOf(replica, source, moving)).slice()
    if (to !== undefined) {
      const end = await vectorOf(replica, source, to)
      for (let i = 0; i < probe.length; i++)
        probe[i] = (probe[i] as number) + moved * ((start[i] as number) - (end[i] as number))
    }
    if (definition.params.spaceType === 'cosine') scaleToUnit(probe, lengthOf(probe), probe, 0)
    return probe
  } finally {
    release()
  }
}

/** The vector as it is compared. Coarse rows are too far from it, so the original is read from disk. */
async function vectorOf(replica: Replica, { fieldIndex, definition }: ProbeSource, ordinal: number) {
  const originals = replica.originals[fieldIndex]
  if (originals !== undefined && isRescored({ definition }, { rescore: undefined })) return originals.read(ordinal)
  return (replica.dense[fieldIndex] as DenseField).row(ordinal) as Float32Array
}
