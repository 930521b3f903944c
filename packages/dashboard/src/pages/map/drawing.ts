// The state of a map that is being drawn: starts the worker, keeps its messages, and stops it when another map is requested.
import { useEffect, useState } from 'preact/hooks'
import { AnnalError } from '../../api/request.ts'
import { startWorker } from '../../worker.ts'
import type { ClusterLabel } from './cluster-words.ts'
import type { MapAnswer, MapObject, MapRequest, Source } from './messages.ts'

export interface Drawing {
  readonly loaded: number
  readonly objects: readonly MapObject[]
  readonly source: Source | undefined
  readonly points: Float32Array | undefined
  /** Progress of the layout; 1 when it is complete. */
  readonly share: number
  /** What the clusters are about; empty without texts. */
  readonly labels: readonly ClusterLabel[]
  readonly error: Error | undefined
}

const blank: Drawing = {
  loaded: 0,
  objects: [],
  source: undefined,
  points: undefined,
  share: 0,
  labels: [],
  error: undefined,
}

export function useDrawing(request: MapRequest | undefined): Drawing {
  const [drawing, setDrawing] = useState(blank)
  useEffect(() => {
    if (request === undefined) return
    setDrawing(blank)
    const worker = startWorker('map')
    worker.addEventListener('message', ({ data }: MessageEvent<MapAnswer>) => {
      setDrawing((before) => withAnswer(before, data))
    })
    worker.postMessage(request)
    return () => worker.terminate()
  }, [request])
  return drawing
}

function withAnswer(before: Drawing, answer: MapAnswer): Drawing {
  switch (answer.kind) {
    case 'loading':
      return { ...before, loaded: answer.loaded }
    case 'objects':
      return { ...before, objects: answer.objects, source: answer.source }
    case 'points':
      return { ...before, points: answer.points, share: answer.share }
    case 'labels':
      return { ...before, labels: answer.labels }
    case 'failed': {
      const { message, code } = answer
      return {
        ...before,
        error: code === undefined ? new Error(message) : new AnnalError(code, message),
      }
    }
  }
}
