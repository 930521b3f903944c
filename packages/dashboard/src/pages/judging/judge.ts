// Reads the files and settings, runs the searches, and measures them.
import {
  type Comparisons,
  compareSettings,
  fieldKinds,
  type JudgedQuery,
  type Measures,
  meansOf,
  measureSettings,
  parseSetting,
  readJudgedQueries,
  type Setting,
} from '@annal/client/judging'
import { searchedCollection } from '../../api/judging.ts'
import { type JudgedFiles, linesOf } from './judged-files.ts'

export interface Wish {
  readonly files: JudgedFiles
  /** As JSON. */
  readonly a: string
  readonly b: string | undefined
  readonly k: number
}

export interface Judgment {
  readonly wish: Wish
  readonly judged: readonly JudgedQuery[]
  readonly unjudged: number
  readonly missing: number
  readonly a: Measures
  readonly b: Measures | undefined
  readonly comparisons: Comparisons | undefined
  readonly rounds: number
  /** Whether the ids of a side are values of groups instead of objects. */
  readonly grouped: { readonly a: boolean; readonly b: boolean }
}

/** What a browser computes within about a second; the CLI does more. */
const roundsMost = 10_000
const roundsLeast = 1_000
const drawsMost = 20_000_000

function roundsFor(queries: number): number {
  return Math.min(roundsMost, Math.max(roundsLeast, Math.floor(drawsMost / Math.max(1, queries))))
}

export async function judge(
  name: string,
  wish: Wish,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (done: number, total: number) => void },
): Promise<Judgment> {
  const { files, k } = wish
  if (files.queries === undefined) throw new Error('choose the file of queries')
  if (files.grades === undefined) throw new Error('choose the file of judgments')
  const judged = await readJudgedQueries(linesOf(files.queries), linesOf(files.grades))
  const collection = searchedCollection(name)
  const { fields } = await collection.describe({ signal })
  const read = (side: string, text: string): Setting => parseSetting(side, text, fieldKinds(fields), k)
  const settings = { a: read('A', wish.a), b: wish.b === undefined ? undefined : read('B', wish.b) }
  const searchMany = (requests: Parameters<typeof collection.searchBatch>[0]) =>
    collection.searchBatch(requests, { signal })
  const measured = await measureSettings(searchMany, judged, settings, { k, onProgress, signal })
  const rounds = roundsFor(measured.length)
  return {
    ...{ wish, judged: measured, unjudged: judged.unjudged, missing: judged.missing, rounds },
    a: meansOf(measured, 'a'),
    b: wish.b === undefined ? undefined : meansOf(measured, 'b'),
    comparisons: wish.b === undefined ? undefined : compareSettings(measured, { rounds, seed: 1 }),
    grouped: { a: isGrouped(wish.a), b: wish.b !== undefined && isGrouped(wish.b) },
  }
}

function isGrouped(setting: string): boolean {
  const search = JSON.parse(setting) as object
  return 'group_by' in search || 'groupBy' in search
}
