// Where everything in a new arena is that does not grow: the tables, the center, the scratch of the threads, the items of a job.
import { metricNumbers, numberOf, precisions } from '../../model/choices.ts'
import { roundUp } from '../round-up.ts'
import { header, headerBytes, magic, none } from './header.ts'
import { planScratch, type ScratchAddresses } from './scratch.ts'
import type { Shape } from './shape.ts'

/** Items of one job. A larger apply is several jobs. */
export const jobItemsMax = 16_384
const subBatchMax = 256
/** Levels of a graph, 0 included. */
export const levels = 16

/** Byte addresses. */
export interface ArenaPlan {
  /** Tables with the addresses of blocks, of chunks of units, and of the heads of each block. */
  readonly blocks: number
  readonly units: number
  readonly heads: number
  readonly center: number
  readonly scratchTable: number
  readonly scratch: readonly (ScratchAddresses & { readonly words: readonly number[] })[]
  readonly items: number
  readonly forward: number
  readonly order: number
  /** The end of all of these. */
  readonly top: number
}

/** `threads` threads attach the arena, the owner included. */
export function planArena(shape: Shape, threads: number): ArenaPlan {
  let top = header.address + headerBytes
  const take = (bytes: number, align = 64) => {
    const offset = roundUp(top, align)
    top = offset + bytes
    return offset
  }
  const blocks = take(shape.blocksMax * 4)
  const units = take(shape.unitChunksMax * 4)
  const heads = take(shape.headBytes > 0 ? shape.blocksMax * 4 : 0)
  const center = take(shape.lanes * 4)
  const scratchTable = take(threads * 4)
  const scratch = Array.from({ length: threads }, () => planScratch(shape, take))
  // An item can come with a second one: the row that replaces one that its ordinal had.
  const items = take(jobItemsMax * 2 * 12)
  const forward = take(subBatchMax * levels * (shape.params.M + 1) * 4)
  const order = take(subBatchMax * 4)
  return { blocks, units, heads, center, scratchTable, scratch, items, forward, order, top }
}

/** The words of the header that differ from 0 in an empty arena. */
export function headerWords(shape: Shape, plan: ArenaPlan): readonly (readonly [word: number, value: number])[] {
  const { params, inBlock } = shape
  return [
    [header.magic, magic],
    [header.dimension, params.dimension],
    [header.codeBytes, shape.codeBytes],
    [header.codeStride, shape.codeStride],
    [header.M, params.M],
    [header.M0, shape.linksAtBase],
    [header.efConstruction, params.efConstruction],
    [header.rules, params.rules ?? 1],
    [header.blockShift, shape.blockShift],
    [header.metric, metricNumbers[params.spaceType]],
    [header.precision, numberOf(precisions, shape.precision)],
    [header.coldStride, shape.coldStride],
    [header.inBlockLinks, inBlock.links],
    [header.inBlockUpper, inBlock.upper],
    [header.inBlockNorms, inBlock.norms],
    [header.inBlockCold, inBlock.cold],
    [header.unitShift, shape.unitShift],
    [header.center, plan.center],
    [header.blockTable, plan.blocks],
    [header.unitTable, plan.units],
    [header.headTable, plan.heads],
    [header.scratchTable, plan.scratchTable],
    [header.entry, none],
    [header.jobItems, plan.items],
    [header.jobForward, plan.forward],
    [header.jobForwardLevels, levels],
    [header.jobOrder, plan.order],
  ]
}
