// Weighs the terms of a text query by BM25, as of a version, in any thread:
//
//   score    sum over the terms of boost * idf * count * (k1 + 1) / (count + k1 * (1 - b + b * length / average length))
//   idf      ln(1 + (rows - having + 0.5) / (having + 0.5))
//
// The numbers of rows and the average length are those of the version, so all terms of all searches of a version are weighed alike.
import type { TextQuery } from '../field.ts'
import { totalsAsOf } from './field-totals.ts'
import { blockPostingsMax } from './lists.ts'
import { countOf, lengthOf } from './packed-counts.ts'
import {
  boundAt,
  changing,
  listAt,
  rarity,
  rowsAt,
  type SparseViews,
  type TermPlace,
  type WeighedList,
} from './term-view.ts'

/** What a posting adds, apart from the weight of its list: count / (count + (base + slope * length)). */
export interface TextImpacts {
  readonly base: number
  readonly slope: number
  /** Number of lists, from the first, that every hit is in; 0 if a hit may be in any list. */
  readonly required: number
  /** Whether the lists drive one after another (assembly/sparse/driven.ts): they are in their order. Otherwise windows are scanned. */
  readonly isDriven: boolean
}

/** The lists of a query: those that every hit is in, the shortest first, then the others, those that can add most first. */
export interface TextLists {
  readonly lists: readonly WeighedList[]
  readonly impacts: TextImpacts
}

/** With more lists, windows are faster: a candidate would be looked up in too many. */
const drivenListsMax = 5
/** Looking a row up takes as long as reading this many postings. */
const lookupPostings = 8
/** Quotients are rounded, so that one with a larger count may be smaller by this factor. */
const roundingMax = 1 + 1e-12

/** Undefined: there are no hits. */
export function weighTexts(
  { terms, totals: known, k1, b }: TextQuery,
  version: number,
  views: SparseViews,
  placeOf: (index: number) => TermPlace | typeof changing,
): TextLists | typeof changing | undefined {
  const totals = known ?? totalsAsOf(views.u32, version)
  if (totals === undefined) return changing
  const base = k1 * (1 - b)
  const slope = totals.length > 0 ? (k1 * b * totals.rows) / totals.length : 0
  const required: WeighedTerm[] = []
  const others: WeighedTerm[] = []
  for (const { index, boost, isRequired, rows: knownRows } of terms) {
    if (!isRequired && !(boost > 0)) continue
    const place = placeOf(index)
    if (place === changing) return changing
    const rows = place === undefined ? 0 : (knownRows ?? rowsAt(views, place, version))
    if (rows === undefined) return changing
    if (place === undefined || rows === 0) {
      if (isRequired) return undefined
      continue
    }
    const weight = Math.max(0, boost) * rarity(totals.rows, rows) * (k1 + 1)
    const list = listAt(views, place)
    const found = { list, weight, magnitude: largestImpact(boundAt(views, place), base, slope), rows }
    if (isRequired) required.push(found)
    else others.push(found)
  }
  const count = required.length + others.length
  if (count === 0) return undefined
  required.sort((x, y) => x.rows - y.rows)
  others.sort((x, y) => mostOf(y) - mostOf(x))
  const isDriven = required.length > 0 || others.length <= drivenListsMax
  // Every hit is in the only list.
  const impacts = { base, slope, required: count === 1 ? 1 : required.length, isDriven }
  return { lists: others.length === 0 ? required : [...required, ...others], impacts }
}

interface WeighedTerm extends WeighedList {
  /** Number of live rows with the term. */
  readonly rows: number
}

function mostOf({ weight, magnitude }: WeighedList): number {
  return weight * magnitude
}

/** About how many postings a search reads at most. If terms are required, it looks rows of the first list up in the longer ones. */
export function postingsOfTexts({ lists, impacts: { required } }: TextLists): number {
  const sizes = lists.map(({ list }) => ('ordinal' in list ? 1 : list.blocks * blockPostingsMax))
  const [first = 0] = sizes
  return sizes.reduce((sum, size) => sum + (required > 0 ? Math.min(size, first * lookupPostings) : size), 0)
}

/** At least what a posting adds that the bound of its list covers. */
function largestImpact(bound: number, base: number, slope: number): number {
  const count = countOf(bound)
  return (count / (count + (base + slope * lengthOf(bound)))) * roundingMax
}
