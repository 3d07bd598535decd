#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

__global__ void inclusiveScan(const int* input, int* output, int n) {
    __shared__ int sums[BLOCK_SIZE];
    int t = threadIdx.x, before = 0;
    for (int start = 0; start < n; start += BLOCK_SIZE) {
        sums[t] = start + t < n ? input[start + t] : 0;
        for (int step = 0; step < BLOCK_SIZE; step *= 2) {
            __syncthreads();
            int left = t > step ? sums[t - step] : 0;
            __syncthreads();
            sums[t] += left;
        }
        __syncthreads();
        if (start + t < n) output[start + t] = before + sums[t];
        before += sums[BLOCK_SIZE - 1];
        __syncthreads();
    }
}
