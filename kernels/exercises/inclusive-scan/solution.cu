// output[i] is the sum of input[0] to input[i]. One block scans the array section by section.

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

__global__ void inclusiveScan(const int* input, int* output, int n) {
    __shared__ int sums[2][BLOCK_SIZE];
    int t = threadIdx.x, before = 0;

    for (int start = 0; start < n; start += BLOCK_SIZE) {
        int i = start + t, from = 0;
        sums[from][t] = i < n ? input[i] : 0;
        __syncthreads();

        for (int step = 1; step < BLOCK_SIZE; step *= 2) {
            int sum = sums[from][t];
            if (t >= step) sum += sums[from][t - step];
            from = 1 - from;
            sums[from][t] = sum;
            __syncthreads();
        }

        if (i < n) output[i] = before + sums[from][t];
        before += sums[from][BLOCK_SIZE - 1];
        // the next section may be loaded when all threads have read this one
        __syncthreads();
    }
}
