// A serving thread leaves a part of its time to graph threads, and no more than that.
import { test } from 'tap'
import { TimeShare } from '../src/serving/time-share.ts'

const pauseMs = 0.2

/** Pieces of work of this length with these gaps. Returns the part of the time in which the thread did not work. */
function idleShare({ workMs, gapMs, left }: { workMs: number; gapMs: number; left: number }) {
  const share = new TimeShare({ left, pauseMs })
  let nowMs = 1_000
  let pauses = 0
  let workedMs = 0
  const startMs = nowMs
  for (let i = 0; i < 10_000; i++) {
    workedMs += workMs
    if (share.worked(nowMs, nowMs + workMs)) {
      pauses++
      nowMs += pauseMs
    }
    nowMs += workMs + gapMs
  }
  return { pauses, idle: 1 - workedMs / (nowMs - startMs) }
}

test('a thread that never waits leaves the part of its time', (t) => {
  for (const left of [0.1, 0.25, 0.5]) {
    for (const workMs of [0.01, 0.1, 0.7, 3]) {
      const { idle } = idleShare({ workMs, gapMs: 0, left })
      // A long piece is followed by one pause, so what it owes is paid after the next pieces.
      if (workMs * left <= pauseMs * (1 - left)) t.ok(Math.abs(idle - left) < 0.01, `${left} of ${workMs} ms: ${idle}`)
      else t.ok(idle > 0 && idle <= left, `${left} of ${workMs} ms: ${idle}`)
    }
  }
  t.end()
})

test('a thread that is idle for longer does not pause', (t) => {
  t.equal(idleShare({ workMs: 0.1, gapMs: 0.034, left: 0.25 }).pauses, 0)
  t.ok(idleShare({ workMs: 0.1, gapMs: 0.03, left: 0.25 }).pauses > 0, 'the rest of the part')
  t.equal(idleShare({ workMs: 0.1, gapMs: 5, left: 0.5 }).pauses, 0)
  t.end()
})

test('a long piece of work is not paid for by many short ones', (t) => {
  const share = new TimeShare({ left: 0.25, pauseMs })
  t.ok(share.worked(0, 1_000))
  let nowMs = 1_000 + pauseMs
  let pauses = 0
  for (let i = 0; i < 50; i++, nowMs += 0.01) {
    if (!share.worked(nowMs, nowMs + 0.01)) continue
    pauses++
    nowMs += pauseMs
  }
  t.ok(pauses >= 1 && pauses <= 6, `${pauses} pauses`)
  t.end()
})

test('idleness is not saved up', (t) => {
  const share = new TimeShare({ left: 0.25, pauseMs })
  t.notOk(share.worked(0, 0.1))
  t.notOk(share.worked(60_000, 60_000.7))
  t.ok(share.worked(60_000.7, 60_000.9), 'after .9 ms of work, .225 ms are owed')
  t.end()
})
