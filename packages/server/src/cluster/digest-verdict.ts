// Compares the digests of a node with those that the others announced, and decides whether it must leave service.
import type { StateDigest } from '@annal/engine/replicated'

/** Digests of another node. */
export interface AnnouncedDigests {
  readonly node: string
  readonly digests: readonly Pick<StateDigest, 'part' | 'lsn' | 'digest'>[]
}

/** What a comparison found. */
export interface DigestVerdict {
  /** The newest LSN at which others have the digest of this node, and none has another; 0 if there is none. */
  readonly lsnEqual: number
  /** Why this node must leave service. */
  readonly differs?: string
  /** No digest has a majority, and the leader has another one than this node. More nodes may announce theirs. */
  readonly isTie: boolean
}

/** What is compared. */
export interface DigestFacts {
  readonly node: string
  /** Oldest first. */
  readonly own: readonly StateDigest[]
  readonly others: readonly AnnouncedDigests[]
  /** The node that leads; undefined if none is known. */
  readonly leader: string | undefined
}

/** The nodes that have a digest of one state, by digest. */
type Votes = ReadonlyMap<string, readonly string[]>

/**
 * The nodes with the digest that most of them have stay. If as many have another one, those with the digest of the leader stay, although
 * nobody can tell which is right.
 */
export function digestVerdict({ node, own, others, leader }: DigestFacts): DigestVerdict {
  const announced = others.map(({ node: name, digests }) => ({
    name,
    byState: new Map(digests.map((each) => [stateOf(each), each.digest])),
  }))
  const votesOn = (each: StateDigest): Votes => {
    const votes = new Map([[each.digest, [node]]])
    for (const { name, byState } of announced) {
      const digest = byState.get(stateOf(each))
      if (digest !== undefined) votes.set(digest, [...(votes.get(digest) ?? []), name])
    }
    return votes
  }
  let lsnEqual = 0
  const equalOf = new Map<number, number>()
  for (const each of own) {
    const votes = votesOn(each)
    if (votes.size > 1) {
      const side = sideOf(votes, each.digest, leader)
      if (side === 'stays') continue
      const differs = sentenceOf(each, votes, equalOf.get(each.part) ?? 0, side === 'tie' ? leader : undefined)
      return { lsnEqual, differs, isTie: side === 'tie' }
    }
    if ((votes.get(each.digest) ?? []).length < 2) continue
    equalOf.set(each.part, each.lsn)
    lsnEqual = Math.max(lsnEqual, each.lsn)
  }
  return { lsnEqual, isTie: false }
}

function stateOf({ part, lsn }: Pick<StateDigest, 'part' | 'lsn'>): string {
  return `${part}/${lsn}`
}

function sideOf(votes: Votes, digest: string, leader: string | undefined): 'stays' | 'minority' | 'tie' {
  const own = votes.get(digest) ?? []
  const against = [...votes.values()].filter((nodes) => nodes !== own)
  const most = Math.max(...against.map(({ length }) => length))
  if (most > own.length) return 'minority'
  const leads = leader !== undefined && against.some((nodes) => nodes.includes(leader))
  return most === own.length && leads ? 'tie' : 'stays'
}

function sentenceOf(state: StateDigest, votes: Votes, lsnEqual: number, leader: string | undefined): string {
  const what = state.part === 0 ? 'the catalog' : `collection "${state.name}"`
  const against = [...votes].filter(([digest]) => digest !== state.digest)
  const others = against.map(([digest, nodes]) => `${digest.slice(0, 16)} on ${nodes.join(', ')}`).join(' and ')
  const digests = `digest ${state.digest.slice(0, 16)} on this node, ${others}`
  const since = lsnEqual === 0 ? 'no earlier digest was compared' : `the digests after record ${lsnEqual} were equal`
  const range = `look at records ${lsnEqual + 1} to ${state.lsn}`
  const doubt = leader === undefined ? '' : `; it is unknown which digest is right; ${leader} leads`
  return `${what} differs after record ${state.lsn}: ${digests}; ${since}, so ${range}${doubt}`
}
