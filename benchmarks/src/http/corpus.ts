// The vectors that the measured servers hold, with the exact answers to every search that is measured.
import { type Dataset, makeClustered, readDataset } from '../sets/dataset.ts'
import { exactAnswers } from '../sets/exact.ts'
import { truthAmong } from '../sets/truth-among.ts'
import { type FilterName, filters } from './requests.ts'
import { generateTerms, type TermSet } from './terms.ts'

/**
 * `images` is Fashion-MNIST or, without data sets, generated; `texts` is generated and has 768 dimensions; `terms` is generated and has a sparse
 * field, too.
 */
export type CorpusName = 'images' | 'texts' | 'terms'

export interface Corpus {
  /** Name of the index in the servers. */
  readonly name: CorpusName
  readonly title: string
  readonly dimension: number
  readonly space: 'l2' | 'cosine'
  readonly base: Float32Array
  readonly queries: readonly Float32Array[]
  /** Rows that a writer adds. */
  readonly added: Float32Array
  readonly terms: TermSet | undefined
  truth(filter: FilterName | undefined): readonly Set<number>[]
}

const queriesMax = 1_000
const addedMax = 4_000
const termRows = 20_000

export async function readCorpus(name: CorpusName, dataDir: string | undefined): Promise<Corpus> {
  if (name === 'terms') return withTerms(corpusOf(name, await generate(termRows, 128)))
  if (name === 'texts') return corpusOf(name, await generate(5_000, 768))
  return corpusOf(
    name,
    dataDir === undefined ? await generate(20_000, 256) : await readDataset(dataDir, 'fashion-mnist'),
  )
}

/** The truth is that of the sparse field. */
function withTerms(corpus: Corpus): Corpus {
  const terms = generateTerms(termRows, corpus.queries.length)
  const truth = terms.truth()
  return { ...corpus, title: `${corpus.title}, and terms`, terms, truth: () => truth }
}

async function generate(rows: number, dimension: number): Promise<Dataset> {
  return exactAnswers(makeClustered(rows, dimension, 22))
}

function corpusOf(name: CorpusName, set: Dataset): Corpus {
  const { dimension, metric, base } = set
  const count = Math.min(queriesMax, set.queries.length / dimension)
  const truths = new Map<FilterName | undefined, readonly Set<number>[]>([
    [undefined, Array.from({ length: count }, (_, q) => new Set(set.truth.subarray(q * 100, q * 100 + 10)))],
  ])
  const rest = set.queries.subarray(count * dimension, (count + addedMax) * dimension)
  return {
    name,
    title: `${set.name}, ${base.length / dimension} x ${dimension}, ${metric}, int8`,
    dimension,
    space: metric,
    base,
    queries: Array.from({ length: count }, (_, q) => set.queries.subarray(q * dimension, (q + 1) * dimension)),
    terms: undefined,
    added: rest.length > 0 ? rest : base.subarray(0, addedMax * dimension),
    truth(filter) {
      let truth = truths.get(filter)
      if (truth === undefined) {
        truth = filter === undefined ? [] : truthAmong(set, count, filters[filter].matches)
        truths.set(filter, truth)
      }
      return truth
    },
  }
}
