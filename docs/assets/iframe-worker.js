// The search runs in a Worker, which browsers refuse to a page that was opened from a file: there a hidden frame runs its script.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = `<script src="${url}"></script>`;
      this.loaded = new Promise((resolve) => this.frame.addEventListener("load", resolve)).then(() => {
        const scope = this.frame.contentWindow;
        scope.postMessage = (data) => this.onmessage?.({ data: structuredClone(data) });
        return scope;
      });
      document.body.append(this.frame);
    }

    postMessage(data) {
      this.loaded.then((scope) => scope.onmessage({ data: structuredClone(data) }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
