"""Answers prompts with a model: one JSON line in ({"prompt", "most"}), one out ({"answer", "tokens"}).

Started by `cargo xtask wording` with the file of the model and the number of threads.
"""

import json
import sys

import xllamacpp


def main():
    path, threads = sys.argv[1], int(sys.argv[2])
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx = 4096
    params.n_parallel = 1
    params.warmup = False
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(params)

    def complete(prompt, most):
        request = {
            "prompt": prompt,
            "max_tokens": most,
            "temperature": 0,
            "seed": 1,
            "cache_prompt": True,
            "stop": ["<|im_end|>"],
        }
        return server.handle_completions(request)

    for line in sys.stdin:
        task = json.loads(line)
        result = complete(task["prompt"], task["most"])
        answer = {
            "answer": result["choices"][0]["text"],
            "tokens": result["usage"]["prompt_tokens"],
        }
        print(json.dumps(answer), flush=True)


main()
