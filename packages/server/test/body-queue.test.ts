// Bodies of writes that find no room wait for it before they are read, and are refused if there is none for too long.
import { test } from 'tap'
import { BodyQueue } from '../src/access/body-queue.ts'
import { createBudget } from '../src/access/budget.ts'

function rig(waitMsMax: number) {
  const budget = createBudget(10, 'request bodies')
  const queue = new BodyQueue({ waitMsMax })
  const enter = (amount: number) => {
    const share = budget.open()
    const done = new Promise<void>((resolve, reject) =>
      queue.wait(
        () => share.growTo(amount),
        (error) => (error ? reject(error) : resolve()),
      ),
    )
    return { done, release: share.release }
  }
  return { budget, queue, enter }
}

test('bodies wait for room in their order, and small ones pass large ones', async (t) => {
  const { budget, enter } = rig(60_000)
  const first = enter(6)
  await first.done
  const order: string[] = []
  const large = enter(9)
  const second = enter(6)
  const third = enter(6)
  void large.done.then(() => order.push('large'))
  const done = [second.done.then(() => order.push('second')), third.done.then(() => order.push('third'))]
  const small = enter(2)
  await small.done
  t.same(order, [])
  first.release()
  await done[0]
  second.release()
  await done[1]
  t.same(order, ['second', 'third'])
  third.release()
  small.release()
  await large.done
  t.equal(budget.taken, 9)
})

test('a body for which there is no room for too long is refused', async (t) => {
  const { budget, enter } = rig(20)
  const first = enter(6)
  await first.done
  await t.rejects(enter(6).done, { code: 'overloaded' })
  t.equal(budget.taken, 6)
})

test('a server that stops refuses what waits', async (t) => {
  const { queue, enter } = rig(60_000)
  await enter(6).done
  const { done } = enter(6)
  queue.close()
  await t.rejects(done, { code: 'stopping' })
})
