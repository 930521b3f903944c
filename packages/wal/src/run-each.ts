/** Runs the steps in turn, each of them even if an earlier one failed, and throws the first error at the end. For what must be released. */
export async function runEach(...steps: readonly (() => unknown)[]): Promise<void> {
  let failure: { readonly error: unknown } | undefined
  for (const step of steps) {
    try {
      await step()
    } catch (error) {
      failure ??= { error }
    }
  }
  if (failure !== undefined) throw failure.error
}
