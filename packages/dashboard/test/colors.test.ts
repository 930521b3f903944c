// The colors of kinds next to each other, as the style sheet has them: apart for every sight, and visible on each theme's page.
import { readFile } from 'node:fs/promises'
import { test } from 'tap'
import { contrast, distance, sights } from './color-sight.ts'

/** Five times the difference that is just seen in Oklab, where the distance from black to white is 100. */
const distanceMin = 10
const contrastMin = 1.5

test('twelve colors stay apart, also without one kind of cones, in both themes', async (t) => {
  const css = await readFile(new URL('../src/styles/base.css', import.meta.url), 'utf8')
  const both = (name: string) => new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(css)!.slice(1)
  for (const [i, theme] of ['light', 'dark'].entries()) {
    const colors = Array.from({ length: 12 }, (_, kind) => both(`kind${kind + 1}`)[i]!)
    for (const [sight, matrix] of Object.entries(sights)) {
      const pairs = colors.flatMap((a, at) => colors.slice(at + 1).map((b) => [distance(a, b, matrix), a, b] as const))
      const [nearest, a, b] = pairs.toSorted(([x], [y]) => x - y)[0]!
      t.ok(nearest >= distanceMin, `${theme}, ${sight}: ${a} and ${b} are ${nearest.toFixed(1)} apart`)
    }
    for (const ground of ['bg', 'surface']) {
      const [least, color] = colors
        .map((color) => [contrast(color, both(ground)[i]!), color] as const)
        .toSorted(([x], [y]) => x - y)[0]!
      t.ok(least >= contrastMin, `${theme}: ${color} on ${ground} has contrast ${least.toFixed(2)}`)
    }
  }
  t.ok(distance('#ff0000', '#008800', sights.protanopia!) < distance('#ff0000', '#008800', sights.usual!) / 2)
})
