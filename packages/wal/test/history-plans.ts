// The kinds of simulated histories, by name, so that a worker thread can be given one to run.
import { type Damage, damageKinds, olderDirectory, olderTip } from './damage.ts'
import type { HistoryOptions, Outcome } from './history.ts'

export interface HistoryPlan {
  readonly options: (index: number) => Omit<HistoryOptions, 'seed'>
  /** Damage done to the disk before the last start, by name. Each kind gets its own disk with the same past. */
  readonly harms: Readonly<Record<string, Damage>>
  /** Whether the outcome is acceptable. */
  readonly isExpected: (outcome: Outcome) => boolean
}

/** Starts before the damage is done; one last start then judges. */
const generations = 2

/** The plan entry that does not change the disk. */
export const unharmed = 'unharmed'
const noHarm = { [unharmed]: () => undefined }

const isWhole = ({ kind }: Outcome) => kind === 'whole'
const isHonest = ({ kind }: Outcome) => kind === 'whole' || kind === 'refused'

export function historyPlan(name: string): HistoryPlan {
  switch (name) {
    case 'always':
      return {
        options: (i) => ({ fsync: 'always', tipSync: i % 4 === 0 ? 'commit' : 'timer' }),
        harms: noHarm,
        isExpected: isWhole,
      }
    case 'interval':
    case 'none':
      return { options: () => ({ fsync: name }), harms: noHarm, isExpected: isWhole }
    case 'older TIP':
      return { options: () => ({ generations, beforeStart: olderTip() }), harms: noHarm, isExpected: isWhole }
    case 'older directory':
      return {
        options: () => ({ generations, beforeStart: olderDirectory(generations) }),
        harms: noHarm,
        isExpected: isWhole,
      }
    case 'damage, TIP synced at every commit':
      return { options: () => ({ generations, tipSync: 'commit' }), harms: damageKinds, isExpected: isHonest }
    case 'damage, TIP synced now and then':
      return {
        options: () => ({ generations, tipSync: 'timer' }),
        harms: damageKinds,
        isExpected: (outcome) => isHonest(outcome) || outcome.kind === 'lost',
      }
    default:
      throw new Error(`no plan is named ${name}`)
  }
}
