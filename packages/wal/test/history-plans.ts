// The kinds of simulated lives, by name, so that a thread of its own can be told which to run.
import { damageKinds, olderDirectory, olderTip } from './damage.ts'
import type { HistoryOptions, Outcome } from './history.ts'

export interface HistoryPlan {
  readonly options: (index: number) => Omit<HistoryOptions, 'seed'>
  /** Whether an outcome is as it should be. */
  readonly isExpected: (outcome: Outcome) => boolean
}

/** Starts before the harm is done; the last start then judges. */
const generations = 2

const isWhole = ({ kind }: Outcome) => kind === 'whole'
const isHonest = ({ kind }: Outcome) => kind === 'whole' || kind === 'refused'

export function historyPlan(name: string): HistoryPlan {
  if (name === 'always') {
    return { options: (i) => ({ fsync: 'always', tipSync: i % 4 === 0 ? 'commit' : 'timer' }), isExpected: isWhole }
  }
  if (name === 'interval' || name === 'none') return { options: () => ({ fsync: name }), isExpected: isWhole }
  if (name === 'older TIP') return { options: () => ({ generations, beforeStart: olderTip() }), isExpected: isWhole }
  if (name === 'older directory') {
    return { options: () => ({ generations, beforeStart: olderDirectory(generations) }), isExpected: isWhole }
  }
  return damagePlan(name)
}

/** Names of damage come with how often TIP is synced: `one flipped bit, commit`. */
function damagePlan(name: string): HistoryPlan {
  const [kind = '', tipSync] = name.split(', ')
  const damage = damageKinds[kind]
  if (damage === undefined || (tipSync !== 'commit' && tipSync !== 'timer')) throw new Error(`no plan is named ${name}`)
  const beforeStart: NonNullable<HistoryOptions['beforeStart']> = (scene) => {
    if (scene.history.generation === generations) damage(scene)
  }
  return {
    options: () => ({ generations, tipSync, beforeStart }),
    isExpected: tipSync === 'commit' ? isHonest : (outcome) => isHonest(outcome) || outcome.kind === 'lost',
  }
}
