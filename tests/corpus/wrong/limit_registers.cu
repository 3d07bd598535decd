//!tilelab block=(32,32) grid=(ceil(Width/256), ceil(Width/256))
#define B 8

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int r0 = (blockIdx.y * 32 + threadIdx.y) * B;
    int c0 = (blockIdx.x * 32 + threadIdx.x) * B;
    float acc[B][B] = {};
    for (int k = 0; k < Width; ++k) {
        float m[B], n[B];
        #pragma unroll
        for (int i = 0; i < B; ++i) {
            m[i] = r0 + i < Width ? M[(r0 + i) * Width + k] : 0.0f;
            n[i] = c0 + i < Width ? N[k * Width + c0 + i] : 0.0f;
        }
        #pragma unroll
        for (int i = 0; i < B; ++i)
            #pragma unroll
            for (int j = 0; j < B; ++j)
                acc[i][j] += m[i] * n[j];
    }
    #pragma unroll
    for (int i = 0; i < B; ++i)
        #pragma unroll
        for (int j = 0; j < B; ++j)
            if (r0 + i < Width && c0 + j < Width)
                P[(r0 + i) * Width + c0 + j] = acc[i][j];
}
