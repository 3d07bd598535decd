__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ int next;
    int t = threadIdx.y * blockDim.x + threadIdx.x;
    int row = blockIdx.y * TILE_WIDTH + threadIdx.y, col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    if (t == blockDim.x * blockDim.y - 1) next = 0;
    float sum = 0;
    for (int phase = 0; phase < Width; phase += TILE_WIDTH) {
        __syncthreads();
        int first = next;
        __syncwarp();
        if (t == blockDim.x * blockDim.y - 1) next = first + TILE_WIDTH;
        for (int k = 0; k < TILE_WIDTH; ++k)
            if (first + k < Width) sum += M[row * Width + first + k] * N[(first + k) * Width + col];
    }
    P[row * Width + col] = sum;
}
