// output[i] is the sum of input[0] to input[i]. One block scans the array section by section.
//
// Check it with:  tilelab grade starter.cu --exercise inclusive-scan

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

__global__ void inclusiveScan(const int* input, int* output, int n) {
    __shared__ int sums[2][BLOCK_SIZE];
    int t = threadIdx.x;

    for (int start = 0; start < n; start += BLOCK_SIZE) {
        int i = start + t, from = 0;
        sums[from][t] = i < n ? input[i] : 0;
        __syncthreads();

        for (int step = 1; step < BLOCK_SIZE; step *= 2) {
            // TODO: add the sum that is `step` places before this one. Store it in the other buffer.
            __syncthreads();
        }

        // TODO: add the sum of all earlier sections.
        if (i < n) output[i] = sums[from][t];
        __syncthreads();
    }
}
