// A session: one process on the server, one WebSocket to it.
import { socket } from './addresses.js';

export class Session {
  /** `onMessage(message, blob)` for everything it tells; `onEnd({text, hint, type})` once, when it is over. */
  constructor(kind, request, { onMessage, onEnd }) {
    this.over = false;
    this._end = (reason) => {
      if (this.over) return;
      this.over = true;
      this._socket.close();
      onEnd(reason);
    };
    this._socket = new WebSocket(socket(kind));
    this._socket.binaryType = 'arraybuffer';
    this._socket.onopen = () => this._socket.send(JSON.stringify(request));
    this._socket.onmessage = ({ data }) => {
      const [message, blob] = unpack(data);
      if (['error', 'died', 'refused'].includes(message.type)) this._end(message);
      else onMessage(message, blob);
    };
    this._socket.onclose = () => this._end({ type: 'closed', text: 'The session has ended.' });
    addEventListener('pagehide', () => {
      if (this.over) return;
      this.close();
      // A browser may keep the page and show it again: then nothing is behind it any more.
      addEventListener('pageshow', () => onEnd({ type: 'closed', text: 'The session ended when the page was left.' }), { once: true });
    }, { once: true });
  }

  send(message) {
    if (this._socket.readyState === WebSocket.OPEN) this._socket.send(JSON.stringify(message));
  }

  /** End it; `onEnd` is not called. */
  close() {
    this.over = true;
    this._socket.close();
  }
}

/** A message is the length of its JSON, the JSON, and bytes. */
function unpack(data) {
  const length = new DataView(data).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(data, 4, length));
  return [JSON.parse(text), new Uint8Array(data, 4 + length)];
}
