__device__ float2 packed[64 * 64];
__device__ void publish(int Width) { if (Width < 1) __threadfence(); }
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    packed[row * Width + col] = make_float2(M[row * Width + col], N[col * Width + row]);
    publish(Width);
    __syncthreads();
    float acc = 0.0f;
    for (int k = 0; k < Width; ++k)
        acc += packed[row * Width + k].x * packed[col * Width + k].y;
    P[row * Width + col] = acc;
}
