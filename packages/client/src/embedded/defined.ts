// The engine distinguishes absent members from undefined ones; callers of the client do not have to.

type Defined<T> = { [Key in keyof T]: Exclude<T[Key], undefined> }

/** A copy without undefined members. */
export function defined<T extends object>(value: T): Defined<T> {
  // The remaining members are those of T without undefined, which is what Defined means.
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Defined<T>
}
