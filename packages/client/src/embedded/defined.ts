// The engine tells a member that is absent from one that is undefined; callers of the client need not.

type Defined<T> = { [Key in keyof T]: Exclude<T[Key], undefined> }

/** Without the members that are undefined. */
export function defined<T extends object>(value: T): Defined<T> {
  // The members left are those of T without undefined, which is what Defined says.
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Defined<T>
}
