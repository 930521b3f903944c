// Checks whether the operations on one key can have happened one after another: the key is a register, and every operation takes effect at
// one moment between its call and its reply. The search is that of Wing and Gong with memoization.

export interface Operation {
  readonly kind: 'write' | 'read'
  /** The value written or read; undefined if the key was deleted or absent. */
  readonly value: string | undefined
  readonly calledAt: number
  /** Infinity without a reply: a write may take effect at any time after its call, or never. */
  readonly answeredAt: number
}

interface Entry {
  readonly operation: Operation
  readonly number: number
  readonly isCall: boolean
  next: Entry | undefined
  previous: Entry | undefined
  /** The reply to a call. */
  answer: Entry | undefined
}

/** Whether an order explains all operations, starting with an absent key. */
export function isLinearizable(operations: readonly Operation[]): boolean {
  const head = linked(operations)
  const tried = new Set<string>()
  const stack: { readonly entry: Entry; readonly state: string | undefined }[] = []
  let done = 0n
  let state: string | undefined
  let entry = head.next
  while (head.next !== undefined) {
    if (entry === undefined) return true
    if (entry.isCall) {
      const { kind, value } = entry.operation
      const after = kind === 'write' ? value : state
      const doneAfter = done | (1n << BigInt(entry.number))
      const key = `${doneAfter.toString(36)} ${after}`
      if ((kind === 'write' || value === state) && !tried.has(key)) {
        tried.add(key)
        stack.push({ entry, state })
        done = doneAfter
        state = after
        lift(entry)
        entry = head.next
      } else entry = entry.next
      continue
    }
    // A reply whose call is not placed yet, so an earlier operation was placed wrongly.
    const last = stack.pop()
    if (last === undefined) return false
    state = last.state
    done &= ~(1n << BigInt(last.entry.number))
    unlift(last.entry)
    entry = last.entry.next
  }
  return true
}

function linked(operations: readonly Operation[]): Entry {
  const events = operations.flatMap((operation, number) => {
    const blank = { operation, number, next: undefined, previous: undefined }
    const answer: Entry = { ...blank, isCall: false, answer: undefined }
    const call: Entry = { ...blank, isCall: true, answer }
    return [
      { at: operation.calledAt, entry: call },
      { at: operation.answeredAt, entry: answer },
    ]
  })
  // At equal times calls come first, because the operations may have overlapped.
  events.sort((a, b) => (a.at === b.at ? Number(b.entry.isCall) - Number(a.entry.isCall) : a.at - b.at))
  const nothing: Operation = { kind: 'read', value: undefined, calledAt: 0, answeredAt: 0 }
  const head: Entry = {
    operation: nothing,
    number: -1,
    isCall: false,
    next: undefined,
    previous: undefined,
    answer: undefined,
  }
  let last = head
  for (const { entry } of events) {
    last.next = entry
    entry.previous = last
    last = entry
  }
  return head
}

function lift(call: Entry): void {
  for (const entry of [call, call.answer]) {
    if (entry?.previous !== undefined) entry.previous.next = entry.next
    if (entry?.next !== undefined) entry.next.previous = entry.previous
  }
}

function unlift(call: Entry): void {
  for (const entry of [call.answer, call]) {
    if (entry?.previous !== undefined) entry.previous.next = entry
    if (entry?.next !== undefined) entry.next.previous = entry
  }
}
