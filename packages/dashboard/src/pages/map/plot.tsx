// Points on a canvas. It zooms and moves by wheel, touch, keys and buttons, and selects one point or the points within a lasso.
import { useEffect, useRef, useState } from 'preact/hooks'
import { visibleName } from '../../parts/visible.ts'
import { theme, themeColor } from '../../theme.ts'
import type { ClusterLabel } from './cluster-words.ts'
import { inside, nearest, type Place, type Size, toScreen, type View, zoomed } from './view.ts'

const height = 560
const radius = 2.6
const reachPx = 9
const whole: View = { x: 0, y: 0, zoom: 1 }
const step = 1.4

interface PlotProps {
  readonly points: Float32Array
  /** CSS custom properties, one per point. */
  readonly colors: readonly string[]
  readonly labels: readonly string[]
  readonly clusters: readonly ClusterLabel[]
  readonly chosen: ReadonlySet<number>
  readonly onChoose: (chosen: readonly number[]) => void
  readonly onOpen: (index: number) => void
}

export function Plot({ points, colors, labels, clusters, chosen, onChoose, onOpen }: PlotProps) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [view, setView] = useState(whole)
  const [lasso, setLasso] = useState<readonly Place[]>()
  const [lassoing, setLassoing] = useState(false)
  const [hovered, setHovered] = useState<{ readonly index: number; readonly place: Place }>()
  const grabbed = useRef<{ readonly place: Place; readonly view: View; moved: boolean }>(undefined)
  const [width, setWidth] = useState(600)

  useEffect(() => {
    const element = canvas.current
    if (element === null) return
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  useEffect(() => {
    if (canvas.current !== null) paint(canvas.current, { points, colors, chosen, view, lasso, width })
  }, [points, colors, chosen, view, lasso, width, theme.value])

  const placeOf = (event: PointerEvent | WheelEvent): Place => {
    const box = canvas.current!.getBoundingClientRect()
    return { x: event.clientX - box.left, y: event.clientY - box.top }
  }
  const size = { width, height }
  const zoomBy = (factor: number, center: Place = { x: width / 2, y: height / 2 }) =>
    setView(zoomed(view, factor, center, size))
  return (
    <div class="plot">
      <div class="row plot-tools">
        <button type="button" class="compact icon" aria-label="Zoom in" onClick={() => zoomBy(step)}>
          +
        </button>
        <button type="button" class="compact icon" aria-label="Zoom out" onClick={() => zoomBy(1 / step)}>
          −
        </button>
        <button type="button" class="compact" onClick={() => setView(whole)}>
          All
        </button>
        <button type="button" class="compact" aria-pressed={lassoing} onClick={() => setLassoing(!lassoing)}>
          Lasso
        </button>
      </div>
      <canvas
        ref={canvas}
        class={lassoing ? 'lassoing' : ''}
        role="img"
        aria-label={`Map of ${labels.length} objects; similar objects are close to each other`}
        onWheel={(event) => {
          event.preventDefault()
          zoomBy(event.deltaY < 0 ? 1.15 : 1 / 1.15, placeOf(event))
        }}
        onPointerDown={(event) => {
          canvas.current?.setPointerCapture(event.pointerId)
          const place = placeOf(event)
          if (lassoing || event.shiftKey) setLasso([place])
          else grabbed.current = { place, view, moved: false }
        }}
        onPointerMove={(event) => {
          const place = placeOf(event)
          const grab = grabbed.current
          if (lasso !== undefined) setLasso([...lasso, place])
          else if (grab === undefined) {
            const index = nearest(points, place, view, size, reachPx)
            setHovered(index === undefined ? undefined : { index, place })
          } else {
            const [dx, dy] = [place.x - grab.place.x, place.y - grab.place.y]
            if (Math.hypot(dx, dy) > 3) grab.moved = true
            if (grab.moved) setView({ ...grab.view, x: grab.view.x + dx, y: grab.view.y + dy })
          }
        }}
        onPointerUp={(event) => {
          if (lasso !== undefined) {
            onChoose(inside(points, lasso, view, size))
            setLasso(undefined)
          } else if (grabbed.current !== undefined && !grabbed.current.moved) {
            const index = nearest(points, placeOf(event), view, size, reachPx)
            if (index !== undefined) onOpen(index)
          }
          grabbed.current = undefined
        }}
        onPointerLeave={() => setHovered(undefined)}
      />
      <ClusterLabels clusters={clusters} view={view} size={size} />
      {hovered && (
        <div class="plot-hint mono" style={{ left: `${hovered.place.x + 12}px`, top: `${hovered.place.y + 44}px` }}>
          <bdi>{visibleName(labels[hovered.index] ?? '')}</bdi>
        </div>
      )}
    </div>
  )
}

function ClusterLabels(props: {
  readonly clusters: readonly ClusterLabel[]
  readonly view: View
  readonly size: Size
}) {
  return (
    <ul class="cluster-labels" aria-label="Words of the clusters">
      {props.clusters.map(({ x, y, words }) => {
        const place = toScreen(x, y, props.view, props.size)
        if (!isWithin(place, props.size)) return null
        return (
          <li key={words.join(' ')} style={{ '--x': `${place.x}px`, top: `${place.y}px` }}>
            <bdi>{words.join(', ')}</bdi>
          </li>
        )
      })}
    </ul>
  )
}

function isWithin({ x, y }: Place, { width, height }: Size): boolean {
  return x >= 0 && y >= 0 && x <= width && y <= height
}

interface Painting {
  readonly points: Float32Array
  readonly colors: readonly string[]
  readonly chosen: ReadonlySet<number>
  readonly view: View
  readonly lasso: readonly Place[] | undefined
  readonly width: number
}

function paint(canvas: HTMLCanvasElement, { points, colors, chosen, view, lasso, width }: Painting): void {
  const ratio = devicePixelRatio
  canvas.width = Math.round(width * ratio)
  canvas.height = Math.round(height * ratio)
  const context = canvas.getContext('2d')
  if (context === null) return
  context.scale(ratio, ratio)
  const names = new Set([...colors, '--text', '--accent'])
  const resolved = new Map([...names].map((name) => [name, themeColor(canvas, name)]))
  const dim = chosen.size > 0
  for (let i = 0; i * 2 < points.length; i++) {
    const { x, y } = toScreen(points[2 * i]!, points[2 * i + 1]!, view, { width, height })
    if (x < -5 || y < -5 || x > width + 5 || y > height + 5) continue
    context.globalAlpha = dim && !chosen.has(i) ? 0.22 : 0.85
    context.fillStyle = resolved.get(colors[i] ?? '--c1')!
    context.beginPath()
    context.arc(x, y, chosen.has(i) ? radius + 1.2 : radius, 0, 2 * Math.PI)
    context.fill()
  }
  if (lasso !== undefined) {
    context.globalAlpha = 1
    context.strokeStyle = resolved.get('--accent')!
    context.beginPath()
    for (const { x, y } of lasso) context.lineTo(x, y)
    context.closePath()
    context.stroke()
  }
}
