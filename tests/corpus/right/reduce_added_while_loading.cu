__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float partialSum[BLOCK_SIZE];
    int t = threadIdx.x;
    int i = 2 * blockIdx.x * BLOCK_SIZE + t;
    float sum = i < n ? input[i] : 0.0f;
    if (i + BLOCK_SIZE < n) sum += input[i + BLOCK_SIZE];
    partialSum[t] = sum;
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride) partialSum[t] += partialSum[t + stride];
    }
    if (t == 0) output[blockIdx.x] = partialSum[0];
}
