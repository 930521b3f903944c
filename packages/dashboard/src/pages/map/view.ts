// Screen positions of the points, and the points that a position or a lasso selects.

export interface Place {
  readonly x: number
  readonly y: number
}

/** The offset in pixels, and the scale relative to the whole map. */
export interface View extends Place {
  readonly zoom: number
}

export interface Size {
  readonly width: number
  readonly height: number
}

const margin = 18
const zoomMax = 60

export function toScreen(x: number, y: number, view: View, { width, height }: Size): Place {
  const half = (Math.min(width, height) / 2 - margin) * view.zoom
  return { x: width / 2 + view.x + x * half, y: height / 2 + view.y - y * half }
}

/** The point under `center` stays where it is. */
export function zoomed(view: View, factor: number, center: Place, { width, height }: Size): View {
  const zoom = Math.min(zoomMax, Math.max(0.5, view.zoom * factor))
  const real = zoom / view.zoom
  const [dx, dy] = [center.x - width / 2 - view.x, center.y - height / 2 - view.y]
  return { zoom, x: view.x + dx * (1 - real), y: view.y + dy * (1 - real) }
}

export function nearest(points: Float32Array, to: Place, view: View, size: Size, reach: number): number | undefined {
  let best: number | undefined
  let bestAway = reach
  for (let i = 0; i * 2 < points.length; i++) {
    const { x, y } = toScreen(points[2 * i]!, points[2 * i + 1]!, view, size)
    const away = Math.hypot(x - to.x, y - to.y)
    if (away <= bestAway) {
      best = i
      bestAway = away
    }
  }
  return best
}

/** The points within a closed line. */
export function inside(points: Float32Array, line: readonly Place[], view: View, size: Size): readonly number[] {
  const found: number[] = []
  for (let i = 0; i * 2 < points.length; i++) {
    if (encloses(line, toScreen(points[2 * i]!, points[2 * i + 1]!, view, size))) found.push(i)
  }
  return found
}

/** Counts how often a ray to the right crosses the line. */
function encloses(line: readonly Place[], { x, y }: Place): boolean {
  let within = false
  for (const [i, a] of line.entries()) {
    const b = line[(i + 1) % line.length]!
    if (a.y > y !== b.y > y && x < ((b.x - a.x) * (y - a.y)) / (b.y - a.y) + a.x) within = !within
  }
  return within
}
