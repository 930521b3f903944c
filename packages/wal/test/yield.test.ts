// Work that yields lets others run in between and loses nothing.
import { test } from 'tap'
import { collectInSlices, IdlePace, runInTurns, runToEnd, SteadyPace, TimeSlice, yieldToOthers } from '../src/yield.ts'

function* steps(seen: string[]): Generator<void, string> {
  for (const step of ['a', 'b', 'c']) {
    seen.push(step)
    yield
  }
  return 'done'
}

/** Appends a mark to `seen` in every turn of the event loop until it is stopped. */
function markTurns(seen: string[]): { stop(): void } {
  let stopped = false
  const mark = () => {
    if (stopped) return
    seen.push('.')
    setImmediate(mark)
  }
  setImmediate(mark)
  return {
    stop() {
      stopped = true
    },
  }
}

test('a generator runs to its end in one turn, or with a turn for others at each yield', async (t) => {
  const seen: string[] = []
  const turns = markTurns(seen)
  t.equal(runToEnd(steps(seen)), 'done')
  t.strictSame(seen, ['a', 'b', 'c'], 'nothing ran in between')
  seen.length = 0
  t.equal(await runInTurns(steps(seen)), 'done')
  turns.stop()
  t.match(seen.join(''), /^a\.+b\.+c\.+$/, 'others ran after each step')
})

test('a slice ends by the clock and begins again', async (t) => {
  const seen: string[] = []
  const turns = markTurns(seen)
  const slice = new TimeSlice()
  await slice.renewIfOver()
  t.strictSame(seen, [], 'no turn is given before the slice is over')
  while (!slice.isOver) Math.sqrt(2)
  await slice.renewIfOver()
  turns.stop()
  t.ok(seen.length > 0, 'one is given when it is')
  const items = Array.from({ length: 100 }, (_, i) => i)
  t.strictSame(await collectInSlices(items), items)
})

test('work of many that yield shares one slice of each turn', async (t) => {
  const seen: string[] = []
  const turns = markTurns(seen)
  const work = async (name: string): Promise<void> => {
    const slice = new TimeSlice()
    for (let i = 0; i < 3; i++) {
      await slice.renew()
      while (!slice.isOver) Math.sqrt(2)
      seen.push(name)
    }
  }
  const names = Array.from('abcdefghijklmnopqrst')
  await Promise.all(names.map(work))
  turns.stop()
  const longest = Math.max(
    ...seen
      .join('')
      .split('.')
      .map(({ length }) => length),
  )
  t.ok(longest <= 2, `others ran after at most two slices: ${longest}`)
  const order = seen.filter((mark) => mark !== '.').join('')
  t.equal(order, names.join('').repeat(3), 'in the order in which they yielded')
})

test('what yields in a turn continues in a later one', async (t) => {
  const seen: string[] = []
  const turns = markTurns(seen)
  const work = async (name: string): Promise<void> => {
    await yieldToOthers()
    seen.push(name)
    await yieldToOthers()
    seen.push(name)
  }
  await Promise.all([work('a'), work('b')])
  turns.stop()
  t.match(seen.join(''), /^\.*a\.*b\.+a\.*b\.*$/)
})

test('work in the background yields by bytes', async (t) => {
  for (const pace of [new IdlePace(), new SteadyPace({ hurried: true })]) {
    const seen: string[] = []
    const turns = markTurns(seen)
    await pace.spend(1)
    t.strictSame(seen, [], 'a byte costs no turn')
    await pace.spend(2 ** 20)
    turns.stop()
    t.ok(seen.length > 0, 'a megabyte does')
  }
  const pace = new SteadyPace({ hurried: false })
  pace.hurry()
  await pace.spend(2 ** 30)
})
