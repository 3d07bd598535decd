//!tilelab block=(BLOCK_SIZE) grid=(2)
#define BLOCK_SIZE 64
__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float s[BLOCK_SIZE];
    const int t = threadIdx.x, sections = (n + 2 * BLOCK_SIZE - 1) / (2 * BLOCK_SIZE);
    for (int section = blockIdx.x; section < sections; section += gridDim.x) {
        int i = section * 2 * BLOCK_SIZE + t;
        s[t] = (i < n ? input[i] : 0.0f) + (i + BLOCK_SIZE < n ? input[i + BLOCK_SIZE] : 0.0f);
        for (int stride = BLOCK_SIZE / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            if (t < stride) s[t] += s[t + stride];
        }
        if (t == 0) output[section] = s[0];
        __syncthreads();
    }
}
