// A map in the making: starts the worker, keeps what it says, ends it when another map is wanted.
import { useEffect, useState } from 'preact/hooks'
import { CallFailure } from '../../api/request.ts'
import workerAddress from './map-worker.ts?worker&url'
import type { MapAnswer, MapObject, MapQuestion } from './messages.ts'

export interface Drawing {
  readonly loaded: number
  readonly objects: readonly MapObject[]
  readonly points: Float32Array | undefined
  /** Of the layout; 1 when it is done. */
  readonly share: number
  readonly error: Error | undefined
}

const blank: Drawing = { loaded: 0, objects: [], points: undefined, share: 0, error: undefined }

export function useDrawing(question: MapQuestion | undefined): Drawing {
  const [drawing, setDrawing] = useState(blank)
  useEffect(() => {
    if (question === undefined) return
    setDrawing(blank)
    const worker = startWorker()
    worker.addEventListener('message', ({ data }: MessageEvent<MapAnswer>) => {
      setDrawing((before) => withAnswer(before, data))
    })
    worker.postMessage(question)
    return () => worker.terminate()
  }, [question])
  return drawing
}

function withAnswer(before: Drawing, answer: MapAnswer): Drawing {
  switch (answer.kind) {
    case 'loading':
      return { ...before, loaded: answer.loaded }
    case 'objects':
      return { ...before, objects: answer.objects }
    case 'points':
      return { ...before, points: answer.points, share: answer.share }
    case 'failed': {
      const { message, code } = answer
      return {
        ...before,
        error: code === undefined ? new Error(message) : new CallFailure(message, { code, status: 0 }),
      }
    }
  }
}

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(address: string): string },
  ): {
    createScriptURL(address: string): string
  }
}

let policy: ReturnType<TrustedTypes['createPolicy']> | undefined

/** The one address that the page ever runs a script from besides its own: a constant of the build. */
function startWorker(): Worker {
  const { trustedTypes } = window as { trustedTypes?: TrustedTypes }
  policy ??= trustedTypes?.createPolicy('annal', {
    createScriptURL: (address) => {
      if (address === workerAddress) return address
      throw new Error('not a script of this page')
    },
  })
  return new Worker(policy?.createScriptURL(workerAddress) ?? workerAddress, { type: 'module' })
}
