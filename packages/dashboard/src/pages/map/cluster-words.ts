// What the clusters of a map are about: the words that their texts have and the others have not.

export interface ClusterLabel {
  readonly x: number
  readonly y: number
  readonly words: readonly string[]
}

const clustersMax = 8
const roundsMax = 30
const wordsMax = 3
/** Of each text. The first paragraphs say what it is about. */
const charactersRead = 600
const wordLengthMin = 3
/** Texts of a cluster that must have a word, and their share. */
const textsMin = 2
const shareMin = 0.1
/** Below, a word is about as frequent elsewhere. */
const scoreMin = 0.05

/** x and y of every object in turn; a text for those that have one. Clusters whose texts have no words in common get no label. */
export function clusterWords(points: Float32Array, texts: readonly (string | undefined)[]): readonly ClusterLabel[] {
  const { centers, clusterOf } = clustersOf(points)
  const counts = centers.map(() => ({ texts: 0, words: new Map<string, number>() }))
  const all = new Map<string, number>()
  for (const [i, text] of texts.entries()) {
    const cluster = counts[clusterOf[i] ?? -1]
    if (text === undefined || cluster === undefined) continue
    cluster.texts += 1
    for (const word of wordsOf(text)) {
      cluster.words.set(word, (cluster.words.get(word) ?? 0) + 1)
      all.set(word, (all.get(word) ?? 0) + 1)
    }
  }
  const total = counts.reduce((sum, cluster) => sum + cluster.texts, 0)
  const labels = new Map<string, ClusterLabel & { readonly texts: number }>()
  for (const [c, cluster] of counts.entries()) {
    const words = bestWords(cluster, all, total - cluster.texts)
    const key = words.join(' ')
    // Neighboring clusters with the same words are one subject; the larger one has the label.
    if (words.length > 0 && (labels.get(key)?.texts ?? 0) < cluster.texts) {
      labels.set(key, { ...centers[c]!, words, texts: cluster.texts })
    }
  }
  return [...labels.values()].map(({ x, y, words }) => ({ x, y, words }))
}

interface Counts {
  readonly texts: number
  /** How many texts have each word. */
  readonly words: ReadonlyMap<string, number>
}

/** Words that are frequent in a cluster, and more frequent than in the others. */
function bestWords(cluster: Counts, all: Counts['words'], others: number): readonly string[] {
  const scored = [...cluster.words].flatMap(([word, count]) => {
    const share = count / cluster.texts
    if (count < textsMin || share < shareMin) return []
    const shareOfOthers = ((all.get(word) ?? 0) - count) / Math.max(1, others)
    const score = others === 0 ? 0 : share * Math.log((share + 0.01) / (shareOfOthers + 0.01))
    return score > scoreMin ? [{ word, score }] : []
  })
  const best = scored.sort((a, b) => b.score - a.score || (a.word < b.word ? -1 : 1))
  return best.slice(0, wordsMax).map(({ word }) => word)
}

const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' })

/** The distinct words of the beginning of a text. */
function wordsOf(text: string): ReadonlySet<string> {
  const found = new Set<string>()
  for (const { segment, isWordLike } of segmenter.segment(text.slice(0, charactersRead).toLowerCase())) {
    const isLong = segment.length >= wordLengthMin || /\p{Lo}{2}/u.test(segment)
    if (isWordLike && isLong && /\p{L}/u.test(segment)) found.add(segment)
  }
  return found
}

interface Center {
  readonly x: number
  readonly y: number
}

/** k-means. The first centers are far from each other, so every run gives the same clusters. */
function clustersOf(points: Float32Array) {
  const n = points.length / 2
  const k = Math.max(1, Math.min(clustersMax, Math.floor(Math.sqrt(n / 2))))
  let centers = farApart(points, k)
  let clusterOf = nearestCenters(points, centers)
  for (let round = 0; round < roundsMax; round++) {
    centers = means(points, clusterOf, centers)
    const next = nearestCenters(points, centers)
    const isSame = next.every((cluster, i) => cluster === clusterOf[i])
    clusterOf = next
    if (isSame) break
  }
  return { centers, clusterOf }
}

function farApart(points: Float32Array, k: number): readonly Center[] {
  const centers: Center[] = []
  const away = new Float64Array(points.length / 2).fill(Number.POSITIVE_INFINITY)
  let farthest = 0
  while (centers.length < k) {
    const center = { x: points[2 * farthest] ?? 0, y: points[2 * farthest + 1] ?? 0 }
    centers.push(center)
    for (let i = 0; i < away.length; i++) away[i] = Math.min(away[i]!, distance(points, i, center))
    farthest = away.indexOf(away.reduce((most, next) => Math.max(most, next), 0))
    if (farthest === -1 || away[farthest] === 0) break
  }
  return centers
}

function nearestCenters(points: Float32Array, centers: readonly Center[]): readonly number[] {
  return Array.from({ length: points.length / 2 }, (_, i) => {
    let best = 0
    for (let c = 1; c < centers.length; c++) {
      if (distance(points, i, centers[c]!) < distance(points, i, centers[best]!)) best = c
    }
    return best
  })
}

function means(points: Float32Array, clusterOf: readonly number[], before: readonly Center[]): readonly Center[] {
  const sums = before.map(() => ({ x: 0, y: 0, count: 0 }))
  for (const [i, cluster] of clusterOf.entries()) {
    const sum = sums[cluster]!
    sum.x += points[2 * i]!
    sum.y += points[2 * i + 1]!
    sum.count += 1
  }
  return sums.map(({ x, y, count }, c) => (count === 0 ? before[c]! : { x: x / count, y: y / count }))
}

function distance(points: Float32Array, i: number, { x, y }: Center): number {
  return (points[2 * i]! - x) ** 2 + (points[2 * i + 1]! - y) ** 2
}
