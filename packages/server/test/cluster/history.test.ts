// The comparison of what clients saw with the log finds each kind of broken promise, and nothing in a history that keeps them.
import { test } from 'tap'
import { faultsIn, History, type Write } from './chaos/history.ts'

function write(key: string, value: string, [calledAt, answeredAt]: readonly [number, number], lsn?: number): Write {
  return { key, value, calledAt, answeredAt, lsn, isPossible: true }
}

/** Two acknowledged writes of one key, one without a reply, and one of another key. */
function kept(): { readonly history: History; readonly placed: Map<string, number[]> } {
  const history = new History()
  history.writes.push(
    write('r', '~a~', [1, 2], 10),
    write('r', '~b~', [3, 4], 11),
    write('r', '~c~', [5, Number.POSITIVE_INFINITY]),
    write('~d~', '~d~', [1, 6], 12),
    { ...write('~e~', '~e~', [1, Number.POSITIVE_INFINITY]), isPossible: false },
  )
  history.readsAfterWrite.push(
    { key: 'r', node: 'n', minLsn: 10, value: '~a~' },
    { key: 'r', node: 'n', minLsn: 10, value: '~b~' },
    { key: '~d~', node: 'n', minLsn: 12, value: '~d~' },
  )
  history.strongReads.push(
    { key: 'r', value: undefined, calledAt: 0, answeredAt: 1.5 },
    { key: 'r', value: '~b~', calledAt: 4.1, answeredAt: 5 },
    { key: 'r', value: '~c~', calledAt: 7, answeredAt: 8 },
  )
  const placed = new Map([
    ['~a~', [10]],
    ['~b~', [11]],
    ['~c~', [13]],
    ['~d~', [12]],
  ])
  return { history, placed }
}

test('a history that keeps every promise has no faults', async (t) => {
  const { history, placed } = kept()
  t.strictSame(faultsIn(history, placed), [])
})

test('each broken promise is found', async (t) => {
  const breaks: Record<string, [(found: ReturnType<typeof kept>) => unknown, RegExp]> = {
    'an acknowledged write is lost': [({ placed }) => placed.delete('~d~'), /~d~ was acknowledged .* not in the log/],
    'a write is there twice': [({ placed }) => placed.set('~a~', [10, 14]), /~a~ is in the log 2 times/],
    'a write without a reply is there twice': [
      ({ placed }) => placed.set('~c~', [13, 14]),
      /~c~ is in the log 2 times/,
    ],
    'a refused write is there': [({ placed }) => placed.set('~e~', [15]), /~e~ was refused/],
    'an acknowledgement names an older LSN': [
      ({ placed }) => placed.set('~b~', [12]),
      /~b~ was acknowledged with LSN 11/,
    ],
    'a read with min_lsn finds nothing': [
      ({ history }) => history.readsAfterWrite.push({ key: '~d~', node: 'n', minLsn: 12, value: undefined }),
      /n returned undefined for ~d~/,
    ],
    'a read with min_lsn is old': [
      ({ history }) => history.readsAfterWrite.push({ key: 'r', node: 'n', minLsn: 11, value: '~a~' }),
      /n returned ~a~ for r/,
    ],
    'a strong read is old': [
      ({ history }) => history.strongReads.push({ key: 'r', value: '~a~', calledAt: 4.5, answeredAt: 5 }),
      /r is not linearizable/,
    ],
    'a strong read misses an acknowledged write': [
      ({ history }) => history.strongReads.push({ key: 'r', value: undefined, calledAt: 2.5, answeredAt: 2.6 }),
      /r is not linearizable/,
    ],
    'a strong read goes back': [
      ({ history }) => history.strongReads.push({ key: 'r', value: '~b~', calledAt: 9, answeredAt: 10 }),
      /r is not linearizable/,
    ],
    'a strong read shows what was refused': [
      ({ history }) => history.strongReads.push({ key: '~e~', value: '~e~', calledAt: 9, answeredAt: 10 }),
      /~e~ is not linearizable/,
    ],
    'a client got a reply that it may not get': [({ history }) => history.wrong.push('500'), /500/],
  }
  for (const [name, [breaks_, pattern]] of Object.entries(breaks)) {
    const found = kept()
    breaks_(found)
    const faults = faultsIn(found.history, found.placed)
    t.equal(faults.length, 1, `${name}: ${faults.join('; ')}`)
    t.match(faults[0], pattern, name)
  }
})
