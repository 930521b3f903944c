// What the doctor says about one thing.

export interface Finding {
  /** `good`; `attention`: it works, and this is worth mending; `bad`: a server would not start, or data is damaged. */
  readonly state: 'good' | 'attention' | 'bad'
  /** A word: node, memory, disk, directory, lock, identity, log, checkpoint, port, settings. */
  readonly about: string
  readonly what: string
  /** What to do, where something is to be done. */
  readonly cure?: string
}

export function good(about: string, what: string): Finding {
  return { state: 'good', about, what }
}

export function attention(about: string, what: string, cure: string): Finding {
  return { state: 'attention', about, what, cure }
}

export function bad(about: string, what: string, cure: string): Finding {
  return { state: 'bad', about, what, cure }
}
