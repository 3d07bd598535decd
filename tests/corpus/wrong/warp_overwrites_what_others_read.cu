__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float strip[TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int r = blockIdx.y * TILE_WIDTH + ty, c = blockIdx.x * TILE_WIDTH + tx;
    float v = 0;
    for (int k = 0; k < Width; ++k) {
        if (ty == TILE_WIDTH - 1) strip[tx] = c < Width ? N[k * Width + c] : 0.0f;
        __syncthreads();
        if (r < Width) v += M[r * Width + k] * strip[tx];
        __syncwarp();
    }
    if (r < Width && c < Width) P[r * Width + c] = v;
}
