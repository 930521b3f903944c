// A provider of vectors as a list of choices shows it.
import type { Provider } from '../../api/server.ts'

export function providerOption({ name, model, dimension }: Provider): readonly [string, string] {
  return [name, `made by ${name} (${model}, ${dimension} dimensions)`]
}
