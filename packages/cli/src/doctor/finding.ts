// A finding of the doctor.

export interface Finding {
  /** `good`: no problem. `attention`: it works, but should be fixed. `bad`: a server would not start, or data is damaged. */
  readonly state: 'good' | 'attention' | 'bad'
  /** The area: node, memory, disk, directory, lock, identity, log, checkpoint, port or settings. */
  readonly about: string
  readonly what: string
  /** What to do, if anything. */
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
