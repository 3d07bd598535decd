__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ __align__(16) float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ __align__(16) float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty, col0 = blockIdx.x * TILE_WIDTH, Col = col0 + tx;
    bool aligned = Width % 4 == 0;
    float Pvalue = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        if (tx < TILE_WIDTH / 4) {
            int c = 4 * tx;
            float4 m = make_float4(0, 0, 0, 0), n = m;
            if (aligned && Row < Width && k0 + c + 3 < Width) {
                m = *reinterpret_cast<const float4*>(M + Row * Width + k0 + c);
            } else if (Row < Width) {
                const float* from = M + Row * Width + k0 + c;
                if (k0 + c < Width) m.x = from[0];
                if (k0 + c + 1 < Width) m.y = from[1];
                if (k0 + c + 2 < Width) m.z = from[2];
                if (k0 + c + 3 < Width) m.w = from[3];
            }
            if (aligned && k0 + ty < Width && col0 + c + 3 < Width) {
                n = *reinterpret_cast<const float4*>(N + (k0 + ty) * Width + col0 + c);
            } else if (k0 + ty < Width) {
                const float* from = N + (k0 + ty) * Width + col0 + c;
                if (col0 + c < Width) n.x = from[0];
                if (col0 + c + 1 < Width) n.y = from[1];
                if (col0 + c + 2 < Width) n.z = from[2];
                if (col0 + c + 3 < Width) n.w = from[3];
            }
            *reinterpret_cast<float4*>(&Mds[ty][c]) = m;
            *reinterpret_cast<float4*>(&Nds[ty][c]) = n;
        }
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) Pvalue += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    if (Row < Width && Col < Width) P[Row * Width + Col] = Pvalue;
}
